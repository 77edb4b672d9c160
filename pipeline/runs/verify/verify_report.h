#pragma once
// What `flowtrain verify` prints.

#include <filesystem>
#include <string>

#include "pipeline/runs/verify/compare_runs.h"
#include "pipeline/runs/verify/setting_differences.h"

namespace flowtrain {

/// All that is printed. `source_a`, `source_b`: where the record that differs is stored; empty: not known.
struct VerifyReport {
  std::filesystem::path a, b;
  RunComparison comparison;
  SettingDifferences settings;
  std::string source_a = {}, source_b = {};
};

/// Compares two runs. Where a row differs, each run's data set is opened to name the record's file, if it can be
/// without plugins: a configuration that somebody sent must not have code executed.
VerifyReport verify_runs(const std::filesystem::path& a, const std::filesystem::path& b);

/// Lines for people, the verdict first.
std::string to_text(const VerifyReport& report);
/// The same as a JSON object, indented: docs/verify.md lists its members.
std::string to_json(const VerifyReport& report);

}  // namespace flowtrain
