#pragma once
// Finds the differences of two runs beside their results: configuration, machine, versions.

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/runs/verify/compare_runs.h"

namespace flowtrain {

/// A key of config.toml or env.json whose values differ.
struct SettingDifference {
  std::string key;      ///< dotted: "loader.batch", "libraries.jpeg"
  std::string a, b;     ///< the values; "(none)" if one run lacks the key
  bool likely = false;  ///< whether it may explain the difference of the results
};

/// The differences, the likely causes first.
struct SettingDifferences {
  std::vector<SettingDifference> config, environment;
  std::vector<std::string> notes;  ///< the parts that could not be compared, with reasons
};

/// Compares config.toml and env.json of two runs, except command line and start time. `comparison` decides which keys
/// are likely causes: those of the order if ids differ, those that make rows of records if fields do, and so on.
SettingDifferences compare_settings(const std::filesystem::path& a, const std::filesystem::path& b,
                                    const RunComparison& comparison);

/// Returns a sentence on why the runs differ; `comparison` has a difference.
std::string likely_cause(const RunComparison& comparison, const SettingDifferences& settings);

}  // namespace flowtrain
