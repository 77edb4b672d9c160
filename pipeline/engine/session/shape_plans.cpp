#include "pipeline/engine/session/assembly.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <system_error>
#include <utility>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "sampling/core/cache_folder.h"
#include "sampling/io/descriptor.h"
#include "sampling/plans/packed_sampler.h"

namespace flowtrain {

namespace {

/// Returns when a file last changed, and its size; nothing for what is no file.
std::string stamp_of(const std::string& path) {
  try {
    const auto file = Descriptor::file(path.c_str());
    return concat(" (", file.size_bytes(), " bytes, ", file.modified_ns(), ")");
  } catch (const std::system_error&) {
    return {};
  }
}

/// Returns the settings that decide the lengths of rows.
std::string length_settings(const Config& config) {
  std::string text;
  const auto add = [&text](const Settings& settings) {
    for (auto& key : settings.keys())
      text += concat(settings.table(), ".", key.name, "=", to_toml(settings.value(key.name)),
                     key.is_path ? stamp_of(settings.text(key.name)) : "", "\n");
  };
  add(config.table("sampler"));
  for (auto& field : config.list("field")) add(field);
  return text;
}

Lengths lengths_of(const DataParts& parts, const Config& config, std::size_t axes) {
  MeasureOptions options{.axes = {}, .folder = cache_folder("lengths"), .settings = length_settings(config)};
  for (std::size_t axis = 0; axis < axes; ++axis) options.axes.push_back(axis);
  using Clock = std::chrono::steady_clock;
  auto told = Clock::now();
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    if (Clock::now() - told < std::chrono::seconds(2)) return;
    told = Clock::now();
    log_info(concat("measuring the lengths of samples: ", format_count(done), " of ", format_count(all)));
  };
  return measure(*parts.dataset, *parts.sampler, options);
}

/// Returns the axis whose lengths decide the batches: the first of loader.length_of, or of all fields.
std::size_t deciding_axis(const LoaderKeys& loader, const std::vector<Field>& fields) {
  std::size_t axis = 0;
  for (auto& field : fields) {
    if (field.free_axes > 0 && !field.sized && (loader.length_of->empty() || field.name == *loader.length_of))
      return axis;
    axis += field.free_axes;
  }
  throw loader.length_of.error("no field of this name has a free axis: " + *loader.length_of);
}

void check_order(const Config& config, const Setting<std::int64_t>& budget, const Setting<bool>& pack) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw *budget > 0 ? budget.error(what, ExitCode::usage, hint) : pack.error(what, ExitCode::usage, hint);
  };
  if (*budget > 0 && *pack)
    throw pack.error(concat("loader.budget is given, too (", budget.origin().text(), ")"), ExitCode::usage,
                     "keep one of them: batches of records of like length, or rows of several records");
  if (*budget > 0 && !number(config.loader().batch))
    refuse("bounds the batches, which loader.batch = \"auto\" does by trial",
           "give loader.batch, the most rows, or none");
  for (auto& optim : config.list("optim"))
    if (*budget > 0 && optim.integer("lr_base_batch") > 0)
      throw optim.error("lr_base_batch", "scales lr by the rows of a batch, which differ with loader.budget",
                        ExitCode::usage, "leave it out, and set lr");
  if (!config.list("data.source").empty())
    refuse("chooses the samples of each batch by their lengths, which several [[data.source]]s do by ratio or rows",
           "leave out one of the two");
  const auto& order = config.table("order").text("name");
  if (order != "shuffle" && order != "sequential")
    refuse("chooses the samples of each batch by their lengths, and order.name = \"" + order + "\" otherwise",
           "set order.name to \"shuffle\" or \"sequential\"");
}

/// Returns the settings that hold the sizes of a field whose extents the plan chooses.
const Settings& settings_of_sizes(const Config& config, const Field& field) {
  for (auto& settings : config.list("field")) {
    const std::string &name = settings.text("name"), &source = settings.text("source");
    if (field.name == (source.empty() ? name : concat(source, ".", name))) return settings;
  }
  return config.table("sampler");
}

/// Sets the sizes of a plan by loader.resizing, if a field has some. Throws UserError(usage) if there are none for keys
/// that need them, and for those that do not fit together.
void set_sizes(ShapePlan& plan, const Config& config, const std::vector<Field>& fields) {
  const LoaderKeys loader = config.loader();
  const auto& starts = *loader.resize_at;
  SizeOptions options{.sizes = 0, .seed = seed_of(config), .grows = *loader.resizing == "progressive"};
  for (auto& field : fields) {
    const std::vector<std::int64_t> none;
    const Settings* const settings = field.sized ? &settings_of_sizes(config, field) : nullptr;
    plan.sized.resize(plan.sized.size() + field.free_axes, settings ? settings->integers("sizes") : none);
    if (!settings) continue;
    const std::size_t count = settings->integers("sizes").size();
    if (options.sizes > 0 && options.sizes != count)
      throw settings->error("sizes", concat("has ", count, " numbers, those of another field ", options.sizes),
                            ExitCode::usage, "a batch has the same one of each, so give as many");
    options.sizes = count;
  }
  if (options.sizes == 0) {
    plan.sized.clear();
    if (!options.grows) return;
    throw loader.resizing.error(
        "no field has several sizes", ExitCode::usage,
        "give sampler.sizes in place of sampler.size, or the sizes of a [[field]] made as an image");
  }
  if (options.grows && starts.empty()) {
    options.iterations = static_cast<std::uint64_t>(*config.run().max_iter);
    options.epochs = static_cast<std::uint64_t>(*config.run().max_epochs);
    if (options.iterations == 0 && options.epochs == 0)
      throw loader.resizing.error(
          "divides the run by the number of sizes, but its length is not given", ExitCode::usage,
          "give run.max_iter or run.max_epochs, or in loader.resize_at where each further size begins");
  } else if (options.grows) {
    options.starts.assign(starts.begin(), starts.end());
    if (starts.size() + 1 != options.sizes || std::ranges::adjacent_find(starts, std::greater_equal()) != starts.end())
      throw loader.resize_at.error(concat("expected ", options.sizes - 1, " growing numbers for ", options.sizes,
                                          " sizes, got ", to_toml(Value(starts))));
  }
  plan.sizes = std::make_unique<const SizePlan>(std::move(options));
}

}  // namespace

void set_shape_plan(DataParts& parts, const Config& config, bool training, LastBatch last) {
  const LoaderKeys loader = config.loader();
  const auto fields = parts.sampler->fields();
  ShapePlan sizes{Lengths(parts.dataset->size(), 0)};
  if (training) set_sizes(sizes, config, fields);
  const std::size_t axes = free_axes_of(fields);
  if (training) sizes.groups = rows_of_groups(config);
  if (std::ranges::all_of(fields, [](auto& field) { return field.free_axes == 0 || field.sized; })) {
    if (*loader.budget > 0) throw loader.budget.error("no field has a free axis, so all samples are of one length");
    if (*loader.pack) throw loader.pack.error("no field has a free axis, along which samples could be packed");
    if (sizes.sizes || !sizes.groups.empty()) parts.plan = std::make_shared<ShapePlan>(std::move(sizes));
    return;
  }
  const bool shuffled = training && config.table("order").text("name") != "sequential";
  if (*loader.budget > 0 || *loader.pack) check_order(config, loader.budget, loader.pack);
  sizes.lengths = lengths_of(parts, config, axes);
  auto plan = std::make_shared<ShapePlan>(std::move(sizes));
  const std::size_t axis = plan->axis = deciding_axis(loader, fields);
  const std::uint64_t seed = seed_of(config);
  if (*loader.pack) {
    parts.sampler = with_packed_rows(std::move(parts.sampler));
    const auto row_length = static_cast<std::uint32_t>(parts.sampler->fields().front().shape.front());
    plan->packed = std::make_unique<PackedRows>(
        plan->lengths.axis(axis), PackedOptions{.row_length = row_length, .seed = seed, .shuffled = shuffled});
    plan->most_pieces = plan->packed->most_pieces();
    parts.batches = Batches(plan->packed->rows(), parts.batch, last);
  } else if (*loader.budget > 0 && training) {
    const auto budget = static_cast<std::uint64_t>(*loader.budget);
    plan->bucketed = std::make_unique<BucketedBatches>(
        plan->lengths.axis(axis), BucketedOptions{.budget = budget,
                                                  .most_rows = loader.batch.given() ? parts.batch : 0,
                                                  .last = last,
                                                  .seed = seed,
                                                  .shuffled = shuffled});
    parts.batch = static_cast<std::uint32_t>(plan->bucketed->most_rows());
    parts.batches = Batches(plan->bucketed->batches(), 1, LastBatch::wrap);
  }
  parts.plan = std::move(plan);
}

std::string describe_batches(const DataParts& data) {
  const auto* const plan = data.plan.get();
  const std::string count = format_count(data.batches.per_epoch());
  if (plan && plan->bucketed)
    return concat(count, " batches of up to ", format_count(data.batch), " (", plan->bucketed->buckets(),
                  plan->bucketed->buckets() == 1 ? " bucket" : " buckets", " of like length)");
  if (plan && plan->packed)
    return concat(count, " batches of ", format_count(data.batch), " rows, which hold ",
                  printed("%.1f", 100 * plan->packed->filled()), " % samples");
  if (plan && !plan->groups.empty())
    return concat(
        count, " batches of ", data.batch, " rows (",
        join(data.sources, ", ", [](const SourceShare& source) { return concat(source.rows, " ", source.name); }), ")");
  return concat(count, " batches of ", data.batch);
}

std::string describe_resizing(const Config& config, const DataParts& data) {
  const auto* const plan = data.plan.get();
  if (!plan || !plan->sizes) return "";
  const auto& sizes = *std::ranges::find_if(plan->sized, [](auto& axis) { return !axis.empty(); });
  if (!plan->sizes->grows()) return concat("one of the sizes ", join(sizes), " drawn for each iteration");
  std::string text = concat("size ", sizes[0]);
  const auto accum = static_cast<std::uint32_t>(*config.train().accum);
  for (std::size_t size = 1; size < sizes.size(); ++size)
    text +=
        concat(", ", sizes[size], " from iteration ", format_count(plan->sizes->start(size, data.batches, accum) + 1));
  return text;
}

}  // namespace flowtrain
