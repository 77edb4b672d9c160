#pragma once
// The tables of checks: name, what is checked, and the function.

#include <string>
#include <vector>

#include "pipeline/tools/plugin_kit/report.h"
#include "pipeline/tools/plugin_kit/subject.h"

namespace flowtrain::plugin_kit {

/// The number of processes in which a check runs. A check that runs twice must report the same results in both.
enum class Runs {
  once,
  twice,
  twice_apart,  ///< the second process begins in another second, to find parts that read the clock
};

struct Check {
  const char* name;
  const char* what;  ///< states what holds if the check passes
  /// Throws CheckFailure. Runs in a process of its own.
  void (*run)(const Subject& subject, Report& report);
  Runs runs = Runs::once;
  bool gate = false;  ///< later checks make no sense if it fails
};

/// The hint for failures about records that cannot be used.
inline constexpr const char* how_to_refuse =
    "refuse a record by returning 1 with a message (C), by throwing plugin::Error (plugin.hpp), or SampleError "
    "(pipeline/plugin.h)";

/// Returns the checks in the order in which they run. `kind`: that of a CheckedPart.
const std::vector<Check>& checks_of(const std::string& kind);

/// The tables that checks_of() chooses from.
const std::vector<Check>& sampler_checks();
const std::vector<Check>& dataset_checks();
const std::vector<Check>& order_checks();

}  // namespace flowtrain::plugin_kit
