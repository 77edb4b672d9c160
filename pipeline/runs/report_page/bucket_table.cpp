#include "pipeline/runs/report_page/bucket_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace flowtrain {

namespace {

using nlohmann::ordered_json;

// The number of values of series that a page has room for.
constexpr std::size_t most_cells = 40'000;

// Returns whether a column serves as an x axis of the page.
bool is_axis(const std::string& name) { return name == "elapsed_s" || name == "samples"; }

// Returns whole numbers without a fraction, others with five digits, which is enough for a chart.
ordered_json short_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

}  // namespace

void BucketTable::Bucket::merge(const Bucket& later) {
  if (later.count == 0) return;
  low = std::min(low, later.low);
  high = std::max(high, later.high);
  sum += later.sum;
  count += later.count;
  newest = later.newest;
}

// Lines of one kind usually have their members in the same order.
BucketTable::Column& BucketTable::column(const std::string& name, std::size_t likely) {
  if (likely < columns_.size() && columns_[likely].name == name) return columns_[likely];
  const auto [place, added] = places_.emplace(name, columns_.size());
  if (added) columns_.push_back({name, {}});
  return columns_[place->second];
}

void BucketTable::add(double iteration, const LineField* fields, std::size_t count) {
  if (iterations_.empty() || in_last_row_ == per_row_) {
    if (iterations_.size() == most_rows) merge_neighbours();
    iterations_.push_back(iteration);
    in_last_row_ = 0;
  }
  iterations_.back() = iteration;
  ++in_last_row_;
  std::size_t likely = 0;
  for (const auto* field = fields; field != fields + count; ++field) {
    if (field->is_text || field->name == "iter" || field->name == "epoch") continue;
    auto& to = column(field->name, likely);
    likely = static_cast<std::size_t>(&to - columns_.data()) + 1;
    to.newest = field->value;
    if (!std::isfinite(field->value)) continue;
    to.rows.resize(iterations_.size());
    to.rows.back().merge({field->value, field->value, field->value, field->value, 1});
  }
}

void BucketTable::merge_neighbours() {
  const auto merged = (iterations_.size() + 1) / 2;
  for (std::size_t i = 0; i < merged; ++i) iterations_[i] = iterations_[std::min(2 * i + 1, iterations_.size() - 1)];
  for (auto& [name, rows, newest] : columns_) {
    rows.resize(iterations_.size());
    for (std::size_t i = 0; i < merged; ++i) {
      Bucket both = rows[2 * i];
      if (2 * i + 1 < rows.size()) both.merge(rows[2 * i + 1]);
      rows[i] = both;
    }
    rows.resize(merged);
  }
  iterations_.resize(merged);
  per_row_ *= 2;
}

ordered_json BucketTable::json() const {
  const auto most = std::max<std::size_t>(100, most_cells / std::max<std::size_t>(1, columns_.size()));
  if (iterations_.size() > most) {
    BucketTable shorter = *this;
    while (shorter.iterations_.size() > most) shorter.merge_neighbours();
    return shorter.json();
  }
  ordered_json table{{"iter", ordered_json::array()}};
  for (const double iteration : iterations_) table["iter"].push_back(short_number(iteration));
  ordered_json series = ordered_json::object(), newest_values = ordered_json::object();
  for (auto& [name, rows, newest] : columns_) {
    ordered_json mean = ordered_json::array(), low = mean, high = mean;
    bool several = false;
    for (std::size_t i = 0; i < iterations_.size(); ++i) {
      const Bucket row = i < rows.size() ? rows[i] : Bucket{};
      const bool some = row.count > 0;
      const double gap = std::numeric_limits<double>::quiet_NaN();
      several = several || row.high > row.low;
      mean.push_back(short_number(!some ? gap : is_axis(name) ? row.newest : row.sum / row.count));
      low.push_back(short_number(some ? row.low : gap));
      high.push_back(short_number(some ? row.high : gap));
    }
    newest_values[name] = short_number(newest);
    if (is_axis(name)) {
      table[name] = std::move(mean);
    } else {
      ordered_json& of = series[name];
      of["mean"] = std::move(mean);
      if (several) of["low"] = std::move(low), of["high"] = std::move(high);
    }
  }
  table["series"] = std::move(series);
  table["newest"] = std::move(newest_values);
  return table;
}

}  // namespace flowtrain
