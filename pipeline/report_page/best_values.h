#pragma once
// The best validations of a run, and where their snapshots are.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "pipeline/report_page/run_metrics.h"
#include "pipeline/report_page/stored_config.h"

namespace flowtrain {

/// The best value by each rule that keeps snapshots ([[best]], or the first of val.metrics that is one number):
/// [{"metric":"accuracy","lower_wins":false,"value":0.98,"iter":700,"snapshot":"snapshots/best"}]; `snapshot` is null
/// where it is gone. `result`: result.json, or null.
nlohmann::ordered_json best_of(const std::filesystem::path& run, const nlohmann::ordered_json& result,
                               const std::optional<Document>& config, const RunMetrics& metrics);

/// The best value of each metric of validation: {"accuracy":{"lower_wins":false,"best":0.98,"iter":700}}. Which
/// direction is better follows from the metric's name.
nlohmann::ordered_json extremes_of(const std::optional<Document>& config, const RunMetrics& metrics);

}  // namespace flowtrain
