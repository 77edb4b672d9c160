#pragma once
// The text and the JSON that `flowtrain verify` prints.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "pipeline/base/config/config.h"
#include "pipeline/runs/verify/compare_runs.h"
#include "pipeline/runs/verify/setting_differences.h"

namespace flowtrain {

/// The content of the report. `source_a`, `source_b`: where the record that differs is stored; empty if unknown.
struct VerifyReport {
  std::filesystem::path a, b;
  RunComparison comparison;
  SettingDifferences settings;
  std::string source_a = {}, source_b = {};
};

/// Returns how the training data of a configuration names the record `id`, as "train/star/03915.png"; empty if there is
/// no such record. Throws UserError if the data cannot be opened.
using DescribeRecord = std::function<std::string(const Config& config, std::uint64_t id)>;

/// Compares two runs. If a row differs, `describe` opens each run's data set to name the record's file. It is not
/// called for a configuration with plugins, since a configuration from another person must not execute code.
VerifyReport verify_runs(const std::filesystem::path& a, const std::filesystem::path& b,
                         const DescribeRecord& describe);

/// Formats lines for people, the verdict first.
std::string to_text(const VerifyReport& report);
/// Formats an indented JSON object; docs/verify.md lists its members.
std::string to_json(const VerifyReport& report);

}  // namespace flowtrain
