#pragma once
// The last lines of a run: the best results, and the places of its files.

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/engine/validation/best.h"

namespace flowtrain {

/// Returns a line for each rule that ranked a validation ("best accuracy: 0.9830 at iteration 700, in
/// RUN/snapshots/best"), and one with the files of the run's folder that people look at.
std::vector<std::string> summary_lines(const std::filesystem::path& run, const std::vector<BestRule>& rules,
                                       const Rankings& rankings);

}  // namespace flowtrain
