#include "pipeline/tools/plugin_kit/subject.h"

#include <algorithm>

#include "pipeline/base/config/plugins.h"
#include "pipeline/engine/session/sources.h"
#include "pipeline/tools/plugin_kit/trial_data.h"
#include "sampling/core/mistake.h"
#include "sampling/core/registry.h"

namespace flowtrain::plugin_kit {
namespace {

Config config_of(const SubjectSpec& spec) {
  std::vector<Override> overrides;
  const auto choose = [&](const std::string& key, const std::string& value) {
    overrides.push_back({key, '"' + value + '"', "flowtrain plugin check"});
  };
  if (spec.config.empty()) choose("data.dataset", "shapes");
  if (spec.part.kind == "sampler") choose("sampler.name", spec.part.name);
  if (spec.part.kind == "data set") choose("data.dataset", spec.part.name);
  if (spec.part.kind == "order") choose("order.name", spec.part.name);
  for (auto& change : spec.set) overrides.push_back(parse_set(change));
  return load_config(spec.config, overrides);
}

/// Returns records spread over the data set, with the first and the last.
std::vector<TrialRecord> some_records(const Dataset& dataset) {
  constexpr std::uint64_t most = 6;
  const std::uint64_t count = std::min(most, dataset.size());
  std::vector<TrialRecord> records;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t id = count == 1 ? 0 : i * (dataset.size() - 1) / (count - 1);
    try {
      ReadBuffer buffer;
      // The record is copied, as a data set may use the same memory for all records.
      auto kept = std::make_shared<const isolation::KeptRecord>(dataset.read(id, buffer));
      records.push_back({dataset.describe(id), id, kept, kept->record()});
    } catch (const SampleError&) {
      continue;  // the user's data may have damaged records
    }
  }
  return records;
}

}  // namespace

Subject::Subject(const SubjectSpec& spec) : is_trial_data_(spec.config.empty()) {
  if (!spec.plugin.empty()) open_plugin(spec.plugin);
  config_ = config_of(spec);
  if (spec.part.kind == "data set") return;
  dataset_ = is_trial_data_ ? make_trial_data(spec.trial_data) : open_dataset(*config_, true);
  records_ = some_records(*dataset_);
  if (records_.empty())
    throw UserError(ExitCode::data, "the first records of the data cannot be read", "check [data] of the config");
}

std::unique_ptr<Sampler> Subject::make_sampler(bool training) const {
  constexpr std::int64_t size = 24;
  const Settings& settings = config_->table("sampler");
  const SamplerInput input{.dataset = *dataset_, .training = training, .fields = config_->list("field")};
  try {
    return make_named(samplers(), settings, input);
  } catch (const UserError&) {
    const Key* key = is_trial_data_ ? find_key(settings.keys(), "size") : nullptr;
    if (!key || !std::holds_alternative<std::int64_t>(key->fallback) || settings.given("size")) throw;
    return make_named(samplers(), config_->with("sampler", "size", size).table("sampler"), input);
  }
}

std::unique_ptr<Dataset> Subject::make_dataset() const {
  return make_named(datasets(), config_->data(true), DatasetInput{}, "dataset");
}

std::unique_ptr<Order> Subject::make_order() const {
  return make_named(orders(), config_->table("order"), OrderInput{*dataset_, 1});
}

std::vector<CheckedPart> parts_of(const std::string& plugin) {
  std::vector<CheckedPart> parts;
  for (const auto& [kind, name] : open_plugin(plugin))
    for (const char* checked : {"sampler", "data set", "order"})
      if (kind.kind == checked) parts.push_back({checked, name});
  return parts;
}

}  // namespace flowtrain::plugin_kit
