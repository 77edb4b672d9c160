#pragma once
// Collects all results of a test in files and a table.

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/inference/evaluation/test_part.h"

namespace flowtrain {

/// Writes to `folder` summary.json, {"parts": [{"snapshot", "iter", "set", "setting", "folder", "samples", "metrics"}
/// or …, "error"}]}, and summary.csv, a line for each part and a column for each metric. Throws UserError(snapshot).
void write_summary(const std::filesystem::path& folder, const std::vector<PartOutcome>& outcomes);

/// Returns a table: a row for each part, a column for each of at most eight metrics that are single numbers.
std::vector<std::string> summary_table(const std::vector<PartOutcome>& outcomes);

}  // namespace flowtrain
