#pragma once
// Runs one check in a process of its own: what is checked may crash, end its process, or hang.

#include <string>
#include <vector>

#include "pipeline/tools/plugin_kit/report.h"

namespace flowtrain::plugin_kit {

/// The outcome of a check's process.
struct ChildResult {
  ReportLines report;
  std::string death;  ///< "killed by signal 11 (Segmentation fault)" …; empty: the check came to its end
};

/// Runs this program with `words` and "--report FD", the file of the report. After `limit_s` seconds the process and
/// all that it has started are killed. Throws UserError where no process can be started.
ChildResult run_child(std::vector<std::string> words, double limit_s);

}  // namespace flowtrain::plugin_kit
