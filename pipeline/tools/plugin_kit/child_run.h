#pragma once
// Runs one check in a process of its own, as the checked part may crash, end the process, or hang.

#include <string>
#include <vector>

#include "pipeline/tools/plugin_kit/report.h"

namespace flowtrain::plugin_kit {

/// The outcome of a check's process.
struct ChildResult {
  ReportLines report;
  std::string death;  ///< "killed by signal 11 (Segmentation fault)" …; empty: the check was completed
};

/// Runs this program with `words` and "--report FD", the file of the report. After `limit_s` seconds the process and
/// its children are killed. Throws UserError if no process can be started.
ChildResult run_child(std::vector<std::string> words, double limit_s);

}  // namespace flowtrain::plugin_kit
