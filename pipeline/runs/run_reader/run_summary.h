#pragma once
// Summarizes a run: its progress, its state, its best validation.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pipeline/runs/run_reader/appended_lines.h"
#include "pipeline/runs/run_reader/best_values.h"
#include "pipeline/runs/run_reader/run_status.h"
#include "stages/core/every.h"

namespace flowtrain {

/// A summary of a run. Unknown values are empty.
struct RunSummary {
  RunStatus status = RunStatus::running;
  std::uint64_t iteration = 0;
  std::optional<std::uint64_t> last_iteration;  ///< the iteration that the run is to reach
  std::optional<double> loss;                   ///< the loss of the newest train line
  std::optional<double> samples_per_s;
  std::optional<BestMetric> best;   ///< the best validation by the first rule
  std::optional<double> written_s;  ///< the time when the run last wrote a line, in seconds since 1970
  std::optional<double> age_s;      ///< the seconds since then
};

/// Reads a run's folder repeatedly, each time only new lines. Used by one thread.
class RunWatcher {
 public:
  explicit RunWatcher(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the current summary. If the folder is gone or holds no run, the summary is empty and says failed.
  RunSummary summary();

 private:
  void read_config();
  void read_metrics();
  void read_line(std::string_view line);
  std::optional<std::uint64_t> last_iteration(const nlohmann::ordered_json& graph) const;

  const std::filesystem::path folder_;
  ReadMark mark_;
  std::string train_line_;  // the newest line
  MetricExtremes extremes_;
  std::uint64_t iteration_ = 0;
  Every epochs_;                      // the last epoch line: this many epochs were over after so many iterations
  std::optional<std::uint64_t> end_;  // the iteration of the line of kind end
  std::filesystem::file_time_type config_time_ = std::filesystem::file_time_type::min();
  std::uint64_t max_iter_ = 0, max_epochs_ = 0;
};

}  // namespace flowtrain
