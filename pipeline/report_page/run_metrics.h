#pragma once
// metrics.jsonl as a page shows it, read line by line in bounded memory.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/report_page/bucket_table.h"

namespace flowtrain {

/// The least and the greatest value of a metric, and the iterations where it had them first.
struct Extremes {
  double least = 0, greatest = 0;
  double least_at = 0, greatest_at = 0;
};

/// A bounded choice from a list that may be long: evenly spread, the first one always in it.
struct Thinned {
  static constexpr std::size_t most = 200;

  std::vector<nlohmann::ordered_json> kept;
  std::uint64_t seen = 0, every = 1;

  void add(nlohmann::ordered_json item);
};

class RunMetrics {
 public:
  BucketTable train, val, epochs;
  std::map<std::string, Extremes> extremes;  ///< of the values of validations
  /// How often train lines had a text, by member and text: {"limit":{"sample":30}}.
  std::map<std::string, std::map<std::string, std::uint64_t>> texts;
  std::map<std::string, std::string> newest_texts;  ///< by member
  /// By kind (resume, snapshot, nonfinite, skipped …), and falls of the learning rate by a fifth and more as `lr`.
  std::map<std::string, Thinned> events;
  nlohmann::ordered_json verdict, end;  ///< the newest lines of these kinds; null where there is none
  std::uint64_t last_iteration = 0;     ///< the greatest of any line
  std::uint64_t per_epoch = 0;          ///< iterations of an epoch; 0 before the first one is over

  /// Takes the next line. One that is no JSON object (the end of a file that is being written) is left out.
  void add(std::string_view line);

 private:
  void add_train(double iteration);
  void add_val(double iteration);
  double number(std::string_view name) const;

  std::vector<LineField> fields_;  // of the line; their memory is used again
  std::size_t field_count_ = 0;
  double lr_ = -1;  // of the line before
};

/// All lines of the file; none where it cannot be read.
RunMetrics run_metrics_of(const std::filesystem::path& file);

}  // namespace flowtrain
