#pragma once
// Reads metrics.jsonl for a page, line by line in bounded memory.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/runs/report_page/bucket_table.h"
#include "pipeline/runs/run_reader/best_values.h"

namespace flowtrain {

/// A bounded, evenly spread choice from a list that may be long; the first item is always in it.
struct Thinned {
  static constexpr std::size_t most = 200;

  std::vector<nlohmann::ordered_json> kept;
  std::uint64_t seen = 0, every = 1;

  void add(nlohmann::ordered_json item);
};

class RunMetrics {
 public:
  BucketTable train, val, epochs;
  MetricExtremes extremes;  ///< extremes of the values of validations
  /// The newest texts of train lines, by member: {"limit":"sample"}.
  std::map<std::string, std::string> texts;
  /// Events by kind: resume, snapshot, nonfinite, skipped; falls of the learning rate by a fifth or more are `lr`.
  std::map<std::string, Thinned> events;
  nlohmann::ordered_json verdict, end, samples;  ///< the newest lines of these kinds; null if there is none
  std::uint64_t last_iteration = 0;              ///< the greatest iteration of any line
  double per_epoch = 0;                          ///< iterations of an epoch; 0 before the end of the first one

  /// Adds the next line. A line that is not a JSON object, such as an unfinished one, is skipped.
  void add(std::string_view line);

 private:
  void drop_means();
  void add_train(double iteration);
  void add_val(double iteration);
  double number(std::string_view name) const;

  std::vector<LineField> fields_;  // fields of the current line, whose memory is reused
  std::size_t field_count_ = 0;
  double lr_ = -1;  // the rate of the previous line
};

/// Reads all lines of the file; none if it cannot be read.
RunMetrics run_metrics_of(const std::filesystem::path& file);

}  // namespace flowtrain
