#pragma once
// Keeps the values of many lines in a bounded number of buckets, with least, greatest and mean, so that spikes stay.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace flowtrain {

/// A member of a line of metrics.jsonl: a number (null is not finite), or a text.
struct LineField {
  std::string name;
  double value = std::numeric_limits<double>::quiet_NaN();
  std::string text = {};
  bool is_text = false;
};

/// Lines of one kind, in order. Neighbours are merged whenever there are too many, so memory is bounded.
class BucketTable {
 public:
  /// The most rows that add() keeps; at least half of them are kept once there were so many lines.
  static constexpr std::size_t most_rows = 800;

  /// Adds a line of iteration `iteration`. Texts, `iter` and `epoch` are left out; non-finite numbers leave a gap.
  void add(double iteration, const LineField* fields, std::size_t count);

  /// {"iter":[…],"elapsed_s":[…],"samples":[…],"series":{"loss":{"mean":[…],"low":[…],
  /// "high":[…]}},"newest":{"loss":…}}. `iter`, `elapsed_s` and `samples` are those of a row's last line. `low` and
  /// `high` are there where rows hold several values. Numbers of series have five digits; a gap is null. Rows are
  /// merged further where there are so many series that the text would grow beyond about 1 MB.
  nlohmann::ordered_json json() const;

 private:
  struct Bucket {
    double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
    double newest = std::numeric_limits<double>::quiet_NaN();
    std::uint32_t count = 0;
    void merge(const Bucket& later);
  };
  struct Column {
    std::string name;
    std::vector<Bucket> rows;  // may be shorter than iterations_
    double newest = std::numeric_limits<double>::quiet_NaN();
  };

  Column& column(const std::string& name, std::size_t likely);
  void merge_neighbours();

  std::vector<double> iterations_;  // the iteration of the last line of each row
  std::vector<Column> columns_;
  std::map<std::string, std::size_t> places_;
  std::uint64_t per_row_ = 1, in_last_row_ = 0;
};

}  // namespace flowtrain
