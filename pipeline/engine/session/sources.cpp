#include "pipeline/engine/session/sources.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/text/kept_tokenizer.h"
#include "sampling/class_names.h"
#include "sampling/core/mistake.h"
#include "sampling/core/random.h"
#include "sampling/core/registry.h"
#include "sampling/core/text.h"
#include "sampling/datasets/relabelled_dataset.h"
#include "sampling/datasets/split_names.h"
#include "sampling/field_parts.h"
#include "sampling/field_text.h"
#include "sampling/plugin_host/plugin.h"
#include "sampling/sources/grouped_order.h"
#include "sampling/sources/grouped_sampler.h"
#include "sampling/sources/hold_out.h"
#include "sampling/sources/mixed_dataset.h"
#include "sampling/sources/mixed_order.h"
#include "sampling/sources/sourced_sampler.h"

namespace flowtrain {

namespace {

/// Returns the parts of samples that some of the [[field]]s are made from.
std::vector<std::string> used_parts(const std::vector<Settings>& fields) {
  std::vector<std::string> parts;
  for (auto& field : fields)
    for (auto& part : part_names_of(field)) parts.push_back(std::move(part));
  return parts;
}

std::unique_ptr<Dataset> open_one(const Settings& data, bool training, const std::vector<std::string>& parts) {
  auto dataset = make_named(datasets(), data, DatasetInput{training, parts}, "dataset");
  if (dataset->size() == 0) throw EmptyDataset(data.text("dataset") + ": the data set is empty");
  return dataset;
}

/// A source's place in the configuration, for messages about two sources.
std::string place_of(const Settings& source) {
  return concat(source.table(), " (", name_of_source(source), ", ", source.origin("dataset").text(), ")");
}

/// Returns the place of a data set's records: of the data set, its only file, or the configuration.
std::string place_of(const Dataset& dataset, const Settings& data) {
  const auto* named = dynamic_cast<const NamedDataset*>(&dataset);
  if (named && !named->place().empty()) return named->place();
  if (data.text("path").empty()) return data.text("dataset");
  if (!named) return dataset.describe(0).substr(0, dataset.describe(0).find(" #"));
  return concat(data.text("path"), data.text("split").empty() ? "" : ", split " + data.text("split"));
}

/// Logs the files of the records of `what`, and the files beside them.
void tell_place(const std::string& what, const Dataset& dataset, const Settings& data) {
  const auto classes = dataset.classes().size();
  log_info(concat(what, ": ", place_of(dataset, data), " (", format_count(dataset.size()), " samples",
                  classes == 0 ? "" : concat(", ", format_count(classes), classes == 1 ? " class" : " classes"), ")"));
  if (const auto* named = dynamic_cast<const NamedDataset*>(&dataset))
    for (auto& note : named->notes()) log_info("note: " + note);
}

/// Returns the name of evaluation data in messages.
std::string name_of_measured(const Settings& data) {
  return concat(data.table().starts_with("test.set") || data.table() == "data.test" ? "test data" : "validation data",
                data.has("name") ? concat(" (", data.text("name"), ")") : "");
}

/// Logs the data of [data.test], which a run does not open.
void tell_test_data(const Config& config) {
  if (!config.has_test_data()) return;
  const Settings& data = config.test_data();
  log_info(concat("test data: ", data.text("path"), data.text("split").empty() ? "" : ", split " + data.text("split"),
                  "; `flowtrain test` opens it, the run does not"));
}

std::unique_ptr<Dataset> open_sources(const Config& config, bool tells, bool all_parts) {
  const auto& settings = config.list("data.source");
  const Sources relation = has_groups(config) ? Sources::groups : Sources::alike;
  std::vector<MixedDataset::Source> sources;
  std::vector<std::string> classes;
  const Settings* named = nullptr;  // the table with the class names
  for (auto& each : settings) {
    std::unique_ptr<Dataset> dataset;
    const auto fields = relation == Sources::groups ? fields_of_group(config, sources.size()) : config.list("field");
    try {
      dataset = open_one(each, true, all_parts ? std::vector<std::string>{"*"} : used_parts(fields));
    } catch (const EmptyDataset& empty) {
      throw each.error("dataset", "the data set is empty", ExitCode::data, empty.hint());
    }
    if (tells) tell_place(concat("training data (", name_of_source(each), ")"), *dataset, each);
    if (relation == Sources::alike) try {
        auto both = sources.empty() ? dataset->classes() : agreed_classes(classes, dataset->classes());
        if (!named || both != classes) named = &each;
        classes = std::move(both);
      } catch (const std::invalid_argument& differs) {
        throw each.error(
            "dataset", concat("the classes differ from those of ", place_of(*named), ": ", differs.what()),
            ExitCode::data,
            "sources that are trained on together have the same classes, in the same order; class_names, if "
            "the data set has it, sets them");
      }
    sources.push_back({name_of_source(each), std::move(dataset)});
  }
  return std::make_unique<MixedDataset>(std::move(sources), relation);
}

std::unique_ptr<Order> make_order(const Config& config, const Settings& source, const OrderInput& input) {
  if (!source.text("order").empty()) return make_named(orders(), source, input, "order");
  return make_named(orders(), config.table("order"), input);
}

/// Returns the order of the source of that number. Sources of equal size are shuffled differently.
std::unique_ptr<Order> order_of_source(const Config& config, std::size_t number, const Dataset::Source& source,
                                       std::uint64_t seed) {
  return make_order(config, config.list("data.source")[number], {*source.dataset, mix64(mix64(seed) + number)});
}

std::vector<double> ratios_of(const std::vector<Settings>& settings, const std::vector<std::uint64_t>& sizes) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double ratio = settings[i].real("ratio");
    ratios.push_back(ratio > 0 ? ratio : static_cast<double>(sizes[i]));
  }
  return ratios;
}

/// Returns the turns of an epoch, of `run` positions each.
std::uint64_t turns_of_epoch(const Settings& data, std::uint64_t batch, std::uint64_t run,
                             const std::vector<std::uint64_t>& sizes, const std::vector<double>& ratios) {
  if (const auto batches = number(data, "epoch")) return static_cast<std::uint64_t>(*batches) * (batch / run);
  return turns_of_epoch(data.text("epoch") == "longest" ? EpochEnd::longest : EpochEnd::shortest, sizes, ratios, run);
}

/// Returns the number of positions of a turn.
std::uint64_t run_of(const Settings& data, std::uint64_t batch) {
  return data.text("batches") == "one_source" ? batch : 1;
}

/// Returns the positions of each source in an epoch; `sizes` are those of their orders.
std::vector<std::uint64_t> turns_of(const Config& config, const std::vector<std::uint64_t>& sizes,
                                    std::uint64_t batch) {
  const Settings& data = config.data(true);
  const auto ratios = ratios_of(config.list("data.source"), sizes);
  return shared_out(turns_of_epoch(data, batch, run_of(data, batch), sizes, ratios), ratios);
}

/// Makes the order of batches of `batch` rows, which are those of all groups.
SourcedOrder make_group_order(const Config& config, std::span<const Dataset::Source> sources, std::uint64_t batch,
                              std::uint64_t seed) {
  std::vector<OrderedGroup> groups;
  std::vector<std::uint64_t> sizes;
  std::vector<double> weights;
  for (std::size_t i = 0; const std::uint32_t rows : rows_of_groups(config)) {
    groups.push_back({order_of_source(config, i, sources[i], seed), sources[i].first_id, rows});
    sizes.push_back(groups.back().order->size());
    weights.push_back(rows);
    ++i;
  }
  const std::uint64_t batches = turns_of_epoch(config.data(true), batch, batch, sizes, weights);
  std::vector<SourceShare> shares;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::uint64_t rows = groups[i].rows, samples = batches * rows;
    shares.push_back({.name = sources[i].name,
                      .records = sources[i].dataset->size(),
                      .order_size = sizes[i],
                      .samples = samples,
                      .ratio = weights[i] / static_cast<double>(batch),
                      .passes = static_cast<double>(samples) / static_cast<double>(sizes[i]),
                      .rows = rows});
  }
  return {std::make_unique<GroupedOrder>(std::move(groups), batches), std::move(shares)};
}

bool same_rows(const std::vector<Field>& first, const std::vector<Field>& second) {
  return std::ranges::equal(first, second, [](const Field& a, const Field& b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.free_axes == b.free_axes &&
           a.sized == b.sized && a.group == b.group && a.mean == b.mean && a.stddev == b.stddev;
  });
}

/// Returns whether validation reads the data of training.
bool reads_same_data(const Config& config) {
  if (!config.list("data.source").empty()) return false;
  const Settings &train = config.data(true), &val = config.data(false);
  return std::ranges::all_of(train.keys(), [&](auto& key) {
    return is_of_loader(key.name) || (val.has(key.name) && val.value(key.name) == train.value(key.name));
  });
}

constexpr double default_val_share = 0.1;

/// Returns the share that data.val_share holds out of the training data; 0: none. `has_split` is that of the data set.
double share_to_hold_out(const Config& config, bool has_split) {
  const double share = config.data(true).real("val_share");
  if (!reads_same_data(config)) return 0;
  if (share >= 0) return share;
  return has_split || period(config.val().every).off() ? 0 : default_val_share;
}

/// Returns the file beside the data; none for data on a server, or for a pattern of files.
std::optional<SplitFile> split_file_of(const Settings& data, double share) {
  namespace fs = std::filesystem;
  const fs::path path = data.text("path");
  const auto name = name_of_held_out_list(printed("%g", share), data.text("split"));
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return SplitFile(path / name);
  if (fs::is_regular_file(path, ignored)) return SplitFile(concat(path.string(), ".", name));
  return {};
}

/// Returns the part of `whole` for `training` or validation.
std::unique_ptr<Dataset> part_of(std::unique_ptr<Dataset> whole, const Settings& data, double share, bool training,
                                 bool keeps_split) {
  const auto* named = dynamic_cast<const NamedDataset*>(whole.get());
  const auto file = named ? split_file_of(data, share) : std::nullopt;
  auto known = file ? file->read() : KnownSplit();
  HoldOut split = hold_out(*whole, share, known);
  if (keeps_split) {
    const bool kept = file && file->keep(*named, split, std::move(known));
    log_info(concat("validation: ", printed("%g", 100 * share),
                    whole->classes().empty() ? " %" : " % of the samples of each class",
                    " are held out of the training data (data.val_share, ",
                    data.given("val_share") ? data.origin("val_share").text()
                                            : "as the data has no validation split; 0 turns that off",
                    "): ", format_count(split.training.size()), " to train on, ", format_count(split.validation.size()),
                    " to validate on",
                    kept   ? concat("; ", file->path().string(), " keeps which")
                    : file ? concat("; ", file->path().string(),
                                    " cannot be written, so files that are added "
                                    "later may move some of them")
                           : ""));
  }
  auto& ids = training ? split.training : split.validation;
  if (ids.empty())
    throw EmptyDataset(concat(data.text("dataset"), ": data.val_share = ", printed("%g", share), " leaves none of the ",
                              whole->size(), " samples for ", training ? "training" : "validation"));
  return std::make_unique<SubsetDataset>(std::move(whole), std::move(ids));
}

MakeIsolatedSampler make_isolated = nullptr;

std::unique_ptr<Sampler> sampler_of(const Config& config, SamplerInput input, const std::vector<Settings>& fields) {
  const Settings& settings = config.table("sampler");
  input.fields = fields;
  if (!settings.boolean("process")) return make_named(samplers(), settings, input);
  if (!make_isolated)
    throw settings.error("process", "only the program `flowtrain` can run a sampler in another process",
                         ExitCode::usage, "leave sampler.process out, or use `flowtrain`");
  if (const auto cache = config.loader().cache_mb; *cache > 0)
    throw settings.error("process",
                         concat("loader.cache_mb is given, too (", cache.origin().text(),
                                "): what another process decodes cannot be kept in this one"),
                         ExitCode::usage, "leave out one of the two");
  return make_isolated(settings, *config.run().plugins, input);
}

/// Makes the sampler of groups: each source has its own sampler, of its own [[field]]s.
std::unique_ptr<Sampler> make_group_sampler(const Config& config, std::span<const Dataset::Source> sources) {
  std::vector<std::unique_ptr<Sampler>> samplers;
  for (std::size_t i = 0; i < sources.size(); ++i) try {
      samplers.push_back(sampler_of(config, {*sources[i].dataset}, fields_of_group(config, i)));
    } catch (const UserError& error) {
      throw UserError(error.code(), place_of(config.list("data.source")[i]) + ": " + error.what(), error.hint());
    }
  return std::make_unique<GroupedSampler>(std::move(samplers), sources);
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const Config& config, bool training, bool keeps_split, bool all_parts) {
  if (training && keeps_split) tell_test_data(config);
  if (training && !config.list("data.source").empty()) return open_sources(config, keeps_split, all_parts);
  const auto parts = all_parts ? std::vector<std::string>{"*"} : used_parts(validation_fields(config));
  const Settings& data = config.data(training);
  if (data.text("dataset").empty())
    throw UserError(ExitCode::usage, "data.val.dataset: must be given: the [[data.source]]s are for training alone",
                    "name a data set in [data.val]");
  const bool shares = config.data(true).real("val_share") > 0 && reads_same_data(config);
  auto dataset = open_one(data, training || shares, parts);
  const auto* named = dynamic_cast<const NamedDataset*>(dataset.get());
  const double share = share_to_hold_out(config, !named || named->has_split());
  if (keeps_split && (training || share == 0))
    tell_place(training ? "training data" : name_of_measured(data), *dataset, data);
  return share > 0 ? part_of(std::move(dataset), data, share, training, training && keeps_split) : std::move(dataset);
}

namespace {

/// Refuses classes of other places where records have lists of them, which are indices of the data set's own classes.
void check_class_lists(const Config& config, const std::vector<std::int32_t>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (auto& field : validation_fields(config))
      if (labels[i] != static_cast<std::int32_t>(i) && field.text("as") == "labels")
        throw config.data(false).error(
            "dataset",
            concat("the classes are in other places than those of the training data, but the field '",
                   field.text("name"), "' is made from lists of their indices"),
            ExitCode::data, "give both the same classes in the same order, by class_names if the data set has it");
}

}  // namespace

std::unique_ptr<Dataset> open_validation_dataset(const Config& config, const std::vector<std::string>& learnt,
                                                 bool is_leader) {
  auto dataset = open_dataset(config, false, is_leader);
  const auto classes = dataset->classes();
  if (classes == learnt || classes.empty() || learnt.empty()) return dataset;
  const Settings& data = config.data(false);
  try {
    auto places = places_among(learnt, classes, [&] { return occurring_classes(*dataset); });
    check_class_lists(config, places.labels);
    if (is_leader && !places.lacking.empty())
      log_info(concat("validation data: ", learnt.size() - places.lacking.size(), " of the ", learnt.size(),
                      " classes, without ", listed_classes(places.lacking), "; labels are those of the training data"));
    return std::make_unique<RelabelledDataset>(std::move(dataset), learnt, std::move(places.labels));
  } catch (const std::invalid_argument& differs) {
    throw data.error("dataset", concat("the classes differ from those of the training data: ", differs.what()),
                     ExitCode::data,
                     "a net tells apart the classes that it was trained on: give both the same ones, or fewer to "
                     "validation; data.class_names, if the data set has it, sets the classes of both");
  }
}

SourcedOrder make_training_order(const Config& config, const Dataset& dataset, std::uint64_t batch,
                                 std::uint64_t seed) {
  const auto whole = dataset.sources();
  if (whole.empty()) return {make_named(orders(), config.table("order"), OrderInput{dataset, seed}), {}};
  if (has_groups(config)) return make_group_order(config, whole, batch, seed);

  const auto& settings = config.list("data.source");
  std::vector<OrderedSource> sources;
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto& source = whole[i];
    sources.push_back({order_of_source(config, i, source, seed), source.first_id});
    sizes.push_back(sources.back().order->size());
  }
  const std::uint64_t run = run_of(config.data(true), batch);
  const auto ratios = ratios_of(settings, sizes);
  const auto turns = turns_of(config, sizes, batch);

  double sum = 0;
  for (const double ratio : ratios) sum += ratio;
  std::vector<SourceShare> shares;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (turns[i] == 0)
      throw settings[i].error(
          settings[i].given("ratio") ? "ratio" : "dataset",
          concat("an epoch of ", run > 1 ? "batches" : "samples", " has none of ", name_of_source(settings[i])),
          ExitCode::usage, concat("give it a greater ratio, or set a longer data.epoch: it is ", epoch_end_of(config)));
    sources[i].turns = turns[i];
    const std::uint64_t samples = turns[i] * run;
    shares.push_back({whole[i].name, whole[i].dataset->size(), sizes[i], samples, ratios[i] / sum,
                      static_cast<double>(samples) / static_cast<double>(sizes[i])});
  }
  return {std::make_unique<MixedOrder>(std::move(sources), run), std::move(shares)};
}

bool epoch_has_all(const Config& config, const std::vector<SourceShare>& shares, std::uint64_t batch) {
  if (shares.empty() || has_groups(config)) return true;
  std::vector<std::uint64_t> sizes;
  sizes.reserve(shares.size());
  for (auto& share : shares) sizes.push_back(share.order_size);
  return std::ranges::none_of(turns_of(config, sizes, batch), [](std::uint64_t turns) { return turns == 0; });
}

void set_isolation(MakeIsolatedSampler make) { make_isolated = make; }

std::unique_ptr<Sampler> make_sampler(const Config& config, const SamplerInput& input) {
  const Settings& settings = config.table("sampler");
  check_stored_ids(config, input.training);
  const auto whole = input.training ? input.dataset.sources() : std::span<const Dataset::Source>();
  if (whole.empty()) try {
      return sampler_of(config, input, validation_fields(config));
    } catch (const UserError& error) {
      if (input.training) throw;
      throw UserError(error.code(), concat(place_of(input.dataset, config.data(false)), ": ", error.what()),
                      error.hint());
    }
  if (has_groups(config)) return make_group_sampler(config, whole);
  const auto& sources = config.list("data.source");
  std::vector<Field> first;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::vector<Field> fields;
    try {
      fields = sampler_of(config, {*whole[i].dataset}, config.list("field"))->fields();
    } catch (const UserError& error) {
      throw UserError(error.code(), place_of(sources[i]) + ": " + error.what(), error.hint());
    }
    if (i == 0)
      first = std::move(fields);
    else if (!same_rows(first, fields))
      throw sources[i].error("dataset",
                             concat("the sampler makes other rows of it (", describe_fields(fields), ") than of ",
                                    place_of(sources[0]), " (", describe_fields(first), ")"),
                             ExitCode::usage,
                             "say in [sampler] what they are to have in common: size, channels, mean and stddev, say");
  }
  if (std::ranges::any_of(first, [](auto& field) { return field.name == source_field; }))
    throw settings.error("name",
                         concat("it gives a field '", source_field,
                                "', which is what the index of each row's [[data.source]] is called"),
                         ExitCode::usage, "give the sampler's field another name");
  return std::make_unique<SourcedSampler>(sampler_of(config, input, config.list("field")), whole, source_field);
}

std::string describe_shares(const std::vector<SourceShare>& shares) {
  std::string text;
  for (auto& share : shares) {
    const std::string part =
        share.rows > 0 ? concat(share.rows, " rows of each batch") : printed("ratio %.4g", share.ratio);
    text += concat(text.empty() ? "" : ", ", share.name, " ", format_count(share.records),
                   text.empty() ? " samples" : "", " (", part, ")");
  }
  return concat(shares.size(), shares.size() == 1 ? " source: " : " sources: ", text);
}

std::string epoch_end_of(const Config& config) {
  const Settings& data = config.data(true);
  const auto batches = number(data, "epoch");
  return batches ? concat(format_count(static_cast<std::uint64_t>(*batches)), *batches == 1 ? " batch" : " batches")
                 : data.text("epoch");
}

}  // namespace flowtrain
