#pragma once
// Follows a run's metrics.jsonl while the run trains.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/runs/run_reader/appended_lines.h"
#include "pipeline/runs/run_reader/metric_series.h"

namespace flowtrain {

/// The series of metrics by field: "loss", "samples_per_s". Values that are not finite are left out.
using SeriesByName = std::map<std::string, MetricSeries>;

/// Reads the file once, and then only appended lines. Used by one thread.
class RunHistory {
 public:
  explicit RunHistory(const std::filesystem::path& run_folder) : file_(run_folder / "metrics.jsonl") {}

  using OnLine = std::function<void(const nlohmann::ordered_json&)>;

  /// Reads new lines, and calls `on_line` with each. Returns whether there were any. Lines that are not JSON objects
  /// are skipped. If the file was shortened, everything is read again.
  bool update(const OnLine& on_line = {});

  /// Returns how many times the file was cut back, so that lines were repeated.
  std::uint64_t restarts() const { return restarts_; }
  /// Returns the fields of lines of kind train; val() has those of kind val.
  const SeriesByName& train() const { return train_; }
  const SeriesByName& val() const { return val_; }
  /// Returns the newest line of a kind ("train", "end", "verdict", "resume" …); null if there is none.
  const nlohmann::ordered_json& newest(const std::string& kind) const;

 private:
  void add(const nlohmann::ordered_json& line);

  const std::filesystem::path file_;
  ReadMark mark_;
  std::uint64_t restarts_ = 0;
  SeriesByName train_, val_;
  std::map<std::string, nlohmann::ordered_json> newest_;
};

}  // namespace flowtrain
