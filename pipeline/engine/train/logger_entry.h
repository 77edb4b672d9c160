#pragma once
// The loggers of a run, as entries of pipeline/engine/train/logger_list.h.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "pipeline/base/config/config.h"
#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/base/telemetry/progress.h"
#include "pipeline/engine/train/logger.h"
#include "stages/core/every.h"

namespace flowtrain {

/// The parts that a logger is made of.
struct LoggerInput {
  const Config& config;
  ProgressMode progress = ProgressMode::off;
  std::uint64_t first = 1, last = 0;  ///< iterations of this start
  MetricsFile* metrics = nullptr;     ///< null: this process writes no files
  Every epoch = 1;                    ///< the length of an epoch in iterations

  /// Returns the run's folder; empty if this process writes no files.
  std::filesystem::path folder() const { return metrics ? metrics->path().parent_path() : std::filesystem::path(); }
};

/// A logger, and what the drawing of the graph says of it.
struct LoggerEntry {
  std::string name, does;
  std::size_t depth = 0;  ///< the number of reports that may wait for it
  /// Returns null if the configuration asks for no such logger.
  std::function<std::unique_ptr<Logger>(const LoggerInput&)> make;
};

}  // namespace flowtrain
