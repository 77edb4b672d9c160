#include "stages/torch/validation/validation_metrics.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "sampling/core/mistake.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/shown.h"
#include "stages/evaluation/metric_names.h"
#include "stages/torch/named.h"

namespace flowtrain {

namespace {

constexpr std::size_t most_groups = 1024;

// Chooses rows of the tensors that have as many as the batch.
nets::NamedTensors rows_of(const nets::NamedTensors& tensors, const at::Tensor& chosen, std::int64_t rows) {
  return mapped(tensors, [&](const at::Tensor& tensor) {
    return tensor.dim() > 0 && tensor.size(0) == rows ? tensor.index_select(0, chosen.to(tensor.device())) : tensor;
  });
}

void update_one(const std::string& name, nets::Metric& metric, const nets::NamedTensors& outputs,
                const nets::NamedTensors& batch) {
  try {
    metric.update(outputs, batch);
  } catch (const Mistake& error) {
    throw Mistake(concat("'", name, "': ", error.what()), error.hint());
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(concat("'", name, "': ", error.what()));
  }
}

std::string listed(const std::vector<Field>& fields) { return join(fields, ", ", &Field::name); }

}  // namespace

void ValidationMetrics::add(const std::string& name, Make make) {
  if (std::any_of(metrics_.begin(), metrics_.end(), [&](auto& other) { return other.name == name; }))
    throw std::invalid_argument(concat("'", name, "' is there twice"));
  auto metric = make();
  metrics_.push_back({name, std::move(make), std::move(metric)});
}

void ValidationMetrics::check_inputs(const nets::Net& net, const SlabLayout& layout, const ValKeys& val,
                                     bool decodes) const {
  check_groups(layout, val);
  const auto& fields = layout.fields();
  const auto gives = [&](const std::string& output) {
    return net.may_give(output) || (decodes && output == "prediction");
  };
  const auto fits = [&](const nets::MetricInputs& pair) {
    return gives(pair.output) && std::ranges::any_of(fields, [&](const Field& there) {
             return there.name == pair.field && there.shape.size() >= pair.axes;
           });
  };
  for (auto& [name, make, metric] : metrics_) {
    const auto pairs = metric->inputs();
    if (std::ranges::any_of(pairs, fits)) continue;
    const auto& [output, field, axes] = pairs.front();
    if (!gives(output))
      throw val.metrics.error(concat("'", name, "' is made of '", output, "', which this net does not give"),
                              ExitCode::usage,
                              output == "logits" ? "nets that find objects have ap, ap50 and so on; [] = none"
                              : name == "wer" || name == "cer"
                                  ? "decode.name = \"ctc_beam\" makes it of the logits of a net with a CTC loss"
                                  : "a TorchScript net (net.script) whose forward returns a dict may, or a package "
                                    "(net.package) that was exported with that output");
    throw val.metrics.error(
        concat("'", name, "' compares with '", field, "', not among what the sampler gives: ", listed(fields)),
        ExitCode::usage, concat("take another metric, or a sampler whose batches have '", field, "'"));
  }
}

void ValidationMetrics::check_groups(const SlabLayout& layout, const ValKeys& val) const {
  if (field_.empty()) return;
  const auto& fields = layout.fields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](auto& there) { return there.name == field_; });
  if (found == fields.end())
    throw val.group_by.error(
        concat("'", field_, "' is not among what the sampler gives for validation: ", listed(fields)), ExitCode::usage,
        "several sources are measured apart as several [[val.set]]s");
  const bool is_text = found->dtype == DType::u8 && found->shape.size() == 1;
  if (!is_text && (found->dtype == DType::f32 || !found->shape.empty()))
    throw val.group_by.error(
        concat("'", field_, "' is neither one whole number for each sample nor the bytes of a text"));
  if (metrics_.empty())
    throw val.group_by.error("val.metrics names no metric to compute for each group", ExitCode::usage,
                             "name a metric, or leave it out");
  for (auto& [name, make, metric] : metrics_)
    if (metric->form() != nets::MetricForm::scalar)
      throw val.group_by.error(concat("'", name, "' of val.metrics (", val.metrics.origin().text(),
                                      ") is no single metric that a group could have"),
                               ExitCode::usage, "take it out of val.metrics, or leave val.group_by out");
  if (field_ == "label" && classes_.size() > most_groups)
    throw val.group_by.error(concat("there are ", classes_.size(), " classes, and ", most_groups, " groups at most"));
}

// Each known class has a metric, even if no row is of it.
void ValidationMetrics::begin() {
  for (auto& [name, make, metric] : metrics_) metric->reset();
  confusion_.reset();
  parts_.clear();
  if (field_ == "label")
    for (std::int64_t c = 0; c < classes(); ++c) part({c, ""});
}

void ValidationMetrics::update(const nets::NamedTensors& outputs, const nets::NamedTensors& batch) {
  for (auto& [name, make, metric] : metrics_) update_one(name, *metric, outputs, batch);
  if (!field_.empty()) update_parts(outputs, batch);
}

// A text has no zeros at its end, which fill up the row.
std::vector<ValidationMetrics::GroupKey> ValidationMetrics::groups_of(const at::Tensor& values) const {
  std::vector<GroupKey> groups;
  if (values.dim() == 1) {
    const at::Tensor numbers = values.to(at::kCPU, at::kLong).contiguous();
    for (std::int64_t row = 0; row < numbers.size(0); ++row)
      groups.emplace_back(numbers.const_data_ptr<std::int64_t>()[row], "");
    return groups;
  }
  const at::Tensor bytes = values.to(at::kCPU, at::kByte).contiguous();
  const auto width = static_cast<std::size_t>(bytes.size(1));
  for (std::int64_t row = 0; row < bytes.size(0); ++row) {
    const auto* const begin = reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()) + row * bytes.size(1);
    const std::string_view text(begin, width);
    const std::string_view own = text.substr(0, text.find_last_not_of('\0') + 1);
    groups.emplace_back(own.empty() ? -1 : 0, own);
  }
  return groups;
}

void ValidationMetrics::update_parts(const nets::NamedTensors& outputs, const nets::NamedTensors& batch) {
  const auto groups = groups_of(batch.at(field_));
  const auto count = static_cast<std::int64_t>(groups.size());
  std::map<GroupKey, std::vector<std::int64_t>> rows;
  for (std::int64_t row = 0; row < count; ++row)
    if (const GroupKey& group = groups[static_cast<std::size_t>(row)]; group.first >= 0) rows[group].push_back(row);
  for (auto& [group, own] : rows) {
    const at::Tensor chosen = at::tensor(own, at::kLong);
    const auto own_outputs = rows_of(outputs, chosen, count), own_batch = rows_of(batch, chosen, count);
    Part& to = part(group);
    to.rows += static_cast<double>(own.size());
    for (std::size_t i = 0; i < metrics_.size(); ++i)
      update_one(metrics_[i].name, *to.metrics[i], own_outputs, own_batch);
  }
}

ValidationMetrics::Part& ValidationMetrics::part(const GroupKey& group) {
  Part& part = parts_[group];
  if (parts_.size() > most_groups)
    throw std::invalid_argument(concat("'", field_, "' of val.group_by has more than ", most_groups, " values"));
  while (part.metrics.size() < metrics_.size()) part.metrics.push_back(metrics_[part.metrics.size()].make());
  return part;
}

// Each process may have seen other groups.
void ValidationMetrics::share_groups(Group& group) {
  if (field_.empty()) return;
  std::string mine;
  for (auto& [key, own] : parts_) mine += concat(key.first, " ", key.second.size(), " ", key.second);
  for (auto& theirs : group.gather("the groups of val.group_by", mine)) {
    std::istringstream all(theirs);
    std::size_t length = 0;
    for (std::int64_t number = 0; all >> number >> length && all.get();) {
      std::string text(length, ' ');
      all.read(text.data(), static_cast<std::streamsize>(length));
      part({number, text});
    }
  }
}

// Lists each metric over all rows, then over each group's.
std::vector<const nets::Metric*> ValidationMetrics::all() const {
  std::vector<const nets::Metric*> all;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    all.push_back(metrics_[i].metric.get());
    for (auto& [value, own] : parts_) all.push_back(own.metrics[i].get());
  }
  return all;
}

// A process that had no rows knows of no classes, so it asks the others how many there are.
std::vector<std::vector<double>> ValidationMetrics::totals(Group& group) const {
  std::vector<std::vector<double>> all;
  std::string lengths;
  for (auto* metric : this->all()) {
    all.push_back(metric->totals());
    lengths.append(std::to_string(all.back().size())).append(" ");
  }
  const bool by_class =
      std::any_of(metrics_.begin(), metrics_.end(), [](auto& each) { return each.metric->by_class(); });
  if (!by_class) return all;
  for (auto& theirs : group.gather("the classes that all ranks know", lengths)) {
    std::istringstream numbers(theirs);
    std::size_t length = 0;
    for (auto& totals : all)
      if (numbers >> length && length > totals.size()) totals.resize(length);
  }
  return all;
}

Scalars ValidationMetrics::end(Group& group, std::span<double> beside) {
  share_groups(group);
  auto all = totals(group);
  std::vector<double> sums(beside.begin(), beside.end());
  for (auto& [value, own] : parts_) sums.push_back(own.rows);
  for (auto& totals : all) sums.insert(sums.end(), totals.begin(), totals.end());
  group.sum("the sums of a validation", sums);
  auto from = sums.begin() + static_cast<std::ptrdiff_t>(beside.size());
  std::copy(sums.begin(), from, beside.begin());
  const auto rows = from;
  from += static_cast<std::ptrdiff_t>(parts_.size());

  Scalars scalars;
  const auto names = group_names();
  std::size_t next = 0;
  const auto scalars_of = [&](const nets::Metric& metric) {
    const auto begin = from;
    from += static_cast<std::ptrdiff_t>(all[next++].size());
    return metric.scalars({begin, from});
  };
  for (auto& [name, make, metric] : metrics_) {
    const auto values = scalars_of(*metric);
    if (metric->form() == nets::MetricForm::scalar) {
      scalars.emplace_back(name, values.at(0));
      for (auto count = rows; const std::string& group_name : names) {
        const double scalar = scalars_of(*metric).at(0);
        scalars.emplace_back(concat(name, ".", group_name),
                             *count++ > 0 ? scalar : std::numeric_limits<double>::quiet_NaN());
      }
    } else if (metric->form() == nets::MetricForm::of_each_class) {
      const auto classes = class_names(values.size());
      for (std::size_t c = 0; c < classes.size(); ++c)
        scalars.emplace_back(concat(class_accuracy, classes[c]), values[c]);
    } else if (!values.empty()) {
      confusion_ =
          ClassTable{class_names(static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(values.size()))))),
                     {values.begin(), values.end()}};
    }
  }
  return scalars;
}

// Texts that look alike, such as long ones that begin alike, are numbered.
std::vector<std::string> ValidationMetrics::group_names() const {
  std::vector<std::string> names;
  std::map<std::string, int> times;
  for (auto& [key, own] : parts_) {
    names.push_back(name_of_group(key));
    if (const int time = ++times[names.back()]; time > 1) names.back() += concat(" #", time);
  }
  return names;
}

std::string ValidationMetrics::name_of_group(const GroupKey& group) const {
  if (!group.second.empty()) return shown_text(group.second);
  const auto index = static_cast<std::size_t>(group.first);
  return field_ == "label" && index < classes_.size() ? classes_[index] : std::to_string(group.first);
}

std::vector<std::string> ValidationMetrics::class_names(std::size_t classes) const {
  if (classes == classes_.size()) return classes_;
  std::vector<std::string> numbers;
  for (std::size_t c = 0; c < classes; ++c) numbers.push_back(std::to_string(c));
  return numbers;
}

}  // namespace flowtrain
