#pragma once
// `flowtrain plugin check`: runs the checks, each in a process of its own, and tells what they find.

#include <string>
#include <vector>

#include "pipeline/tools/plugin_kit/subject.h"
#include "sampling/core/error.h"

namespace flowtrain::plugin_kit {

struct CheckOptions {
  std::string plugin;            ///< a file; empty: built-in samplers
  std::string builtin = "all";   ///< a built-in sampler, or all; where there is no `plugin`
  std::string config;            ///< a configuration with the data to check on; empty: trial data
  std::vector<std::string> set;  ///< KEY=VALUE
  double timeout_s = 30;         ///< the limit for one check
};

/// Prints a line for each check and their sum. Returns ExitCode::data where one has failed. Throws UserError(usage) for
/// a file or a sampler that is not there.
ExitCode run_checks(const CheckOptions& options);

/// One check in this process; the other side of run_checks().
struct CheckCall {
  SubjectSpec subject;
  std::string check;  ///< "interface", or a name of checks_of()
  unsigned run = 0;   ///< 1: the second process of a check that runs twice
};

/// The arguments of the program that make it call run_check(); flowtrain plugin run-check takes them.
std::vector<std::string> words_of(const CheckCall& call);

/// Runs one check and writes its report to the open file `report_file`.
void run_check(const CheckCall& call, int report_file);

}  // namespace flowtrain::plugin_kit
