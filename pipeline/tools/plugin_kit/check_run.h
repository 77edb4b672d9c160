#pragma once
// Runs the checks of `flowtrain plugin check`, each in a process of its own, and reports their results.

#include <string>
#include <vector>

#include "pipeline/tools/plugin_kit/subject.h"
#include "sampling/core/error.h"

namespace flowtrain::plugin_kit {

struct CheckOptions {
  std::string plugin;            ///< a file; empty: built-in samplers
  std::string builtin = "all";   ///< a built-in sampler, or all; used if there is no `plugin`
  std::string config;            ///< a configuration with the data for the checks; empty: trial data
  std::vector<std::string> set;  ///< KEY=VALUE
  double timeout_s = 30;         ///< the limit for one check
};

/// Prints a line for each check and a summary. Returns ExitCode::data if a check failed. Throws UserError(usage) for a
/// file or sampler that does not exist.
ExitCode run_checks(const CheckOptions& options);

/// One check, which runs in this process; run_checks() starts it.
struct CheckCall {
  SubjectSpec subject;
  std::string check;  ///< "interface", or a name of checks_of()
  unsigned run = 0;   ///< 1: the second process of a check that runs twice
};

/// Returns the arguments that make the program call run_check(): those of flowtrain plugin run-check.
std::vector<std::string> words_of(const CheckCall& call);

/// Runs one check and writes its report to the open file `report_file`.
void run_check(const CheckCall& call, int report_file);

}  // namespace flowtrain::plugin_kit
