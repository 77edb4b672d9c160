#include "pipeline/runs/report_page/run_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/runs/run_reader/appended_lines.h"

namespace flowtrain {

namespace {

using nlohmann::ordered_json;

// Collects the members of a flat object without a tree in memory, in a third of the time for a long file.
class FlatObject : public nlohmann::json_sax<ordered_json> {
 public:
  explicit FlatObject(std::vector<LineField>& fields) : fields_(fields) {}

  std::size_t count() const { return count_; }
  bool is_flat() const { return flat_; }

  bool null() override { return put(std::numeric_limits<double>::quiet_NaN()); }
  bool boolean(bool value) override { return put(value ? 1 : 0); }
  bool number_integer(std::int64_t value) override { return put(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return put(static_cast<double>(value)); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& text) override {
    if (depth_ != 1 || count_ == 0) return true;
    fields_[count_ - 1].text = text;
    fields_[count_ - 1].is_text = true;
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(std::string& name) override {
    if (depth_ != 1) return true;
    if (count_ == fields_.size()) fields_.emplace_back();
    auto& field = fields_[count_++];
    field.name = name;
    field.value = std::numeric_limits<double>::quiet_NaN();
    field.is_text = false;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool put(double value) {
    if (depth_ == 1 && count_ > 0) fields_[count_ - 1].value = value;
    return true;
  }
  bool enter() {
    constexpr int deepest = 16;
    flat_ = flat_ && depth_ == 0;
    return ++depth_ <= deepest;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::vector<LineField>& fields_;
  std::size_t count_ = 0;
  int depth_ = 0;
  bool flat_ = true;
};

}  // namespace

void Thinned::add(ordered_json item) {
  if (seen++ % every != 0) return;
  kept.push_back(std::move(item));
  if (kept.size() <= most) return;
  for (std::size_t i = 0; 2 * i < kept.size(); ++i) std::swap(kept[i], kept[2 * i]);
  kept.resize((kept.size() + 1) / 2);
  every *= 2;
}

double RunMetrics::number(std::string_view name) const {
  for (std::size_t i = 0; i < field_count_; ++i)
    if (fields_[i].name == name && !fields_[i].is_text) return fields_[i].value;
  return std::numeric_limits<double>::quiet_NaN();
}

void RunMetrics::add(std::string_view line) {
  FlatObject object(fields_);
  if (line.empty() || line.front() != '{' || !ordered_json::sax_parse(line, &object)) return;
  field_count_ = object.count();
  const auto kind = std::find_if(fields_.begin(), fields_.begin() + static_cast<std::ptrdiff_t>(field_count_),
                                 [](auto& field) { return field.name == "kind" && field.is_text; });
  if (kind == fields_.begin() + static_cast<std::ptrdiff_t>(field_count_)) return;
  const double iteration = number("iter");
  if (!(iteration >= 0 && iteration < 1e15)) return;
  last_iteration = std::max(last_iteration, static_cast<std::uint64_t>(iteration));
  if (kind->text == "train") return add_train(iteration);
  if (kind->text == "val") return add_val(iteration);
  if (kind->text == "epoch") {
    const double epoch = number("epoch");
    if (epoch >= 1) per_epoch = iteration / epoch;
    return epochs.add(iteration, fields_.data(), field_count_);
  }
  constexpr std::array kinds{"verdict", "end", "resume", "snapshot", "nonfinite", "skipped", "samples"};
  if (std::ranges::find(kinds, kind->text) == kinds.end()) return;
  auto whole = parse_json(line);
  if (kind->text == "verdict")
    verdict = std::move(whole);
  else if (kind->text == "end")
    end = std::move(whole);
  else if (kind->text == "samples")
    samples = std::move(whole);
  else
    events[kind->text].add(std::move(whole));
}

// Drops means over the last iterations: the page smooths by itself, and they would only make it longer.
void RunMetrics::drop_means() {
  constexpr std::string_view end = "_avg";
  const auto is_mean = [&](const LineField& field) {
    const std::string_view name = field.name;
    return name.ends_with(end) && std::isfinite(number(name.substr(0, name.size() - end.size())));
  };
  std::vector<bool> means;
  for (std::size_t i = 0; i < field_count_; ++i) means.push_back(is_mean(fields_[i]));
  field_count_ = 0;
  for (std::size_t i = 0; i < means.size(); ++i)
    if (!means[i]) std::swap(fields_[field_count_++], fields_[i]);
}

void RunMetrics::add_train(double iteration) {
  drop_means();
  train.add(iteration, fields_.data(), field_count_);
  for (std::size_t i = 0; i < field_count_; ++i) {
    if (!fields_[i].is_text || fields_[i].name == "kind") continue;
    texts[fields_[i].name] = fields_[i].text;
  }
  const double rate = number("lr");
  constexpr double fall = 0.8;  // smooth schedules fall by less between two lines
  if (lr_ > 0 && rate <= fall * lr_)
    events["lr"].add({{"kind", "lr"}, {"iter", static_cast<std::uint64_t>(iteration)}, {"from", lr_}, {"to", rate}});
  if (std::isfinite(rate)) lr_ = rate;
}

void RunMetrics::add_val(double iteration) {
  val.add(iteration, fields_.data(), field_count_);
  for (std::size_t i = 0; i < field_count_; ++i) {
    const auto& [name, value, text, is_text] = fields_[i];
    if (!is_text && name != "iter") enter_value(extremes, name, static_cast<std::uint64_t>(iteration), value);
  }
}

RunMetrics run_metrics_of(const std::filesystem::path& file) {
  RunMetrics metrics;
  for_each_line_of(
      file, [&](std::string_view line) { metrics.add(line); }, [&] { metrics = {}; });
  return metrics;
}

}  // namespace flowtrain
