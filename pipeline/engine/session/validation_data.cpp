#include "pipeline/engine/session/validation_data.h"

#include <algorithm>

#include "pipeline/base/config/metric_rules.h"
#include "pipeline/base/schedules/schedule.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/settings.h"
#include "sampling/field_text.h"
#include "sampling/samplers/keys.h"
#include "sampling/sources/hold_out.h"
#include "stages/evaluation/detection_metrics.h"
#include "stages/evaluation/metric_names.h"

namespace flowtrain {

namespace {

std::optional<DetectionMetrics> detection_metrics(const Config& config, const Dataset& dataset) {
  DetectionMetrics metrics{dataset, {}, decoding_of(config.table("sampler"))};
  for (auto& name : *config.val().metrics)
    if (is_detection_metric(name)) metrics.names.push_back(name);
  return metrics.names.empty() ? std::nullopt : std::optional(std::move(metrics));
}

/// A table that compares the metrics of validations, with the metric's name.
struct Rule {
  const Settings& table;
  const char* key;  ///< the key that a message names
  std::string scalar;
};

std::vector<Rule> rules_of(const Config& config) {
  const std::string ruling = ruling_metric(config).name;
  const auto scalar = [&](const Settings& table) { return ruled_metric(table, config).name; };
  std::vector<Rule> rules;
  for (auto& best : config.list("best")) rules.push_back({best, "metric", scalar(best)});
  const auto keep = config.snapshot().keep_best;
  const auto end = config.snapshot().end_with_best;
  if (config.list("best").empty() && (keep.given() || *end))
    rules.push_back({keep.table(), *end ? end.key() : keep.key(), ruling});
  const Settings& stop = config.table("early_stop");
  if (stop.integer("patience") > 0) rules.push_back({stop, "patience", scalar(stop)});
  for (auto& schedule : config.list("schedule"))
    if (schedules().at(schedule.text("name")).traits.has_state && schedule.has("metric"))
      rules.push_back({schedule, "name", scalar(schedule)});
  return rules;
}

/// Returns the set of a metric; empty for [data.val].
std::string set_of(const std::string& scalar, const Config& config) {
  for (auto& set : config.list("val.set"))
    if (scalar.starts_with(set.text("name") + ".")) return set.text("name");
  return {};
}

// Only now are the names of classes known.
void check_classes_of_groups(const Config& config, const std::vector<std::string>& classes) {
  const ValKeys val = config.val();
  if (*val.group_by != "label" || classes.empty()) return;
  for (auto& [table, key, scalar] : rules_of(config)) {
    if (scalar.starts_with(of_training)) continue;
    const auto set = set_of(scalar, config), metric = metric_of(scalar, *val.metrics);
    const auto before = (set.empty() ? 0 : set.size() + 1) + metric.size();
    if (scalar.size() <= before) continue;
    const auto group = scalar.substr(before + 1);
    if (std::ranges::find(classes, group) == classes.end())
      throw table.error("metric", concat("'", scalar, "': there is no class '", group, "' (val.group_by = \"label\")"));
  }
}

}  // namespace

std::uint64_t ValidationData::batches() const {
  const auto requested = static_cast<std::uint64_t>(*config.val().batches);
  return requested > 0 ? requested : data.batches.per_epoch();
}

std::vector<SetConfig> validation_set_configs(const Config& config) {
  std::vector<SetConfig> all{{"", config}};
  const auto& more = config.list("val.set");
  for (std::size_t i = 0; i < more.size(); ++i) all.push_back({more[i].text("name"), config.with_validation_set(i)});
  return all;
}

ValidationSets open_validation_sets(const std::vector<SetConfig>& configs, const LearntData& learnt,
                                    const std::string& device, const DataSlice& data_slice, bool is_leader,
                                    const OnEmptySet& on_empty, bool needs_targets) {
  ValidationSets sets;
  const auto open = [&](const std::string& name, Config own) {
    auto data = open_validation_data(own, learnt, device, data_slice, is_leader, needs_targets);
    auto& set = *sets.emplace_back(std::make_unique<ValidationData>(name, std::move(own), std::move(data)));
    if (auto metrics = detection_metrics(set.config, *set.data.dataset)) set.detection.emplace(std::move(*metrics));
  };
  if (!configs.empty()) check_classes_of_groups(configs.front().config, learnt.classes);
  for (auto& [name, config] : configs) try {
      open(name, config);
    } catch (const EmptyDataset& empty) {
      if (on_empty) on_empty(empty, name);
    }
  return sets;
}

void tell_empty_set(const EmptyDataset& empty, const std::string& set, const Config& config) {
  std::string idle;
  for (auto& [table, key, scalar] : rules_of(config))
    if (!scalar.starts_with(of_training) && set_of(scalar, config) == set)
      idle += concat(idle.empty() ? "; without it these can never fire: " : ", ", table.table(), ".", key, " (",
                     table.origin(key).text(), ")");
  log_warn(concat("no validation on ", set.empty() ? "[data.val]" : "[[val.set]] " + set, ": ", empty.what(), idle));
}

void warn_of_same_samples(const Dataset& training, const ValidationSets& sets) {
  const auto same = [](const Dataset& one, const Dataset& other) {
    const std::uint64_t last = one.size() - 1;
    return one.size() == other.size() && one.fingerprint() == other.fingerprint() &&
           one.describe(0) == other.describe(0) && one.describe(last) == other.describe(last);
  };
  for (auto& set : sets) {
    const Dataset& validation = *set->data.dataset;
    const auto sources = training.sources();
    if (!same(training, validation) &&
        std::ranges::none_of(sources, [&](auto& source) { return same(*source.dataset, validation); }))
      continue;
    log_warn(concat(set->name.empty() ? "[data.val]" : "the set " + set->name,
                    " has the samples that are trained on, so its metrics do not tell how the net does on others; "
                    "data.val_share = 0.1 holds some of them out of training"));
  }
}

void check_split(const Dataset& training, Group& group) {
  const bool is_split = dynamic_cast<const SubsetDataset*>(&training) != nullptr;
  std::string own = is_split ? std::to_string(training.fingerprint()) : "";
  if (group.ask_leader("what is held out of the training data", [&] { return own; }) != own)
    throw UserError(ExitCode::data, "data.val_share holds out other samples here than on rank 0",
                    "give this machine the files that rank 0's has, and its list of them beside the data: "
                    "val_share-….tsv");
}

namespace {

void check_rows_like_training(const ValidationData& set, const std::vector<Field>& training) {
  // The bounds of free axes may differ, and with sizes that are drawn in training also their number.
  const auto are_alike = [](const Field& one, const Field& other) {
    if (one.dtype != other.dtype) return false;
    if (one.free_axes != other.free_axes) return true;
    return one.shape.size() == other.shape.size() &&
           std::equal(one.shape.begin() + one.free_axes, one.shape.end(), other.shape.begin() + other.free_axes);
  };
  for (auto& field : set.data.sampler->fields()) {
    const auto learnt = std::ranges::find(training, field.name, &Field::name);
    if (learnt == training.end() || field.group != 0 || learnt->group != 0) continue;
    if (are_alike(field, *learnt)) continue;
    throw set.config.data(false).error("dataset",
                                       concat("the rows have ", describe_fields({field}),
                                              ", but those of the training data have ", describe_fields({*learnt})),
                                       ExitCode::data, "give both data sets samples of one form");
  }
}

}  // namespace

void check_rows(const ValidationSets& sets, const Sampler* training) {
  if (training)
    for (auto& set : sets) check_rows_like_training(*set, training->fields());
  const auto same = [](const Field& a, const Field& b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
  };
  for (auto& set : sets)
    if (!std::ranges::equal(set->data.sampler->fields(), sets.front()->data.sampler->fields(), same))
      throw set->config.data(false).error("name", "the rows have another form than those of [data.val]", ExitCode::data,
                                          "sampler.size, channels and the like make all pictures alike");
}

bool has_set_of(const ValidationSets& sets, const Config& config, const std::string& scalar) {
  const std::string name = set_of(scalar, config);
  return std::ranges::any_of(sets, [&](auto& set) { return set->name == name; });
}

std::string describe_sizes(const ValidationSets& sets) {
  std::string text;
  for (auto& set : sets)
    text += concat(", ", format_count(set->data.dataset->size()),
                   set->name.empty() ? " for validation" : " of " + set->name);
  return text;
}

// If a validation goes through a part of its set, more samples are chosen, so that each validation meets about as many.
std::optional<SampleChoice> sample_choice(const ValidationData& set) {
  const auto pictures = static_cast<std::uint64_t>(*set.config.val().pictures);
  if (pictures == 0) return std::nullopt;
  const Dataset& dataset = *set.data.dataset;
  const std::uint64_t rows = std::min(set.batches() * set.data.batch, dataset.size());
  const std::uint64_t count = (pictures * dataset.size() + rows - 1) / rows;
  return SampleChoice{dataset, pictures, spread_records(dataset.size(), count, seed_of(set.config)),
                      decoding_of(set.config.table("sampler"))};
}

}  // namespace flowtrain
