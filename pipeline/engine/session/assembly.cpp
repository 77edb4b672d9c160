#include "pipeline/engine/session/assembly.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/session/pixel_form.h"
#include "sampling/core/cpus.h"
#include "sampling/core/registry.h"
#include "sampling/core/warning.h"
#include "sampling/images/picture_cache.h"

namespace flowtrain {

namespace {

// Values of the configuration stay as they are.
std::uint32_t deepest_prefetch(const LoaderKeys& loader, std::size_t batch_bytes) {
  constexpr std::size_t most = 32, most_bytes = std::size_t{1} << 30;  // the limits of prepared batches
  const auto prefetch = static_cast<std::uint32_t>(*loader.prefetch);
  if (loader.prefetch.given()) return prefetch;
  return std::max(prefetch, static_cast<std::uint32_t>(std::min(most, most_bytes / batch_bytes)));
}

Tuner::Limits tuning_limits(const Config& config, const DataParts& parts, const std::string& device) {
  constexpr unsigned most_readers = 64;
  const LoaderKeys loader = config.loader();
  const RunKeys run = config.run();
  Tuner::Limits limits;
  limits.most = {parts.workers, parts.readers, parts.prefetch};
  if (!loader.readers.given() && !parts.dataset->resident())
    limits.most.readers = std::max(parts.readers, most_readers);
  const std::size_t batch_bytes = slab_layout(parts.sampler->fields(), parts.batch, parts.plan.get()).bytes();
  limits.most.prefetch = deepest_prefetch(loader, batch_bytes);
  limits.shares_cores = device == "cpu";
  if (limits.shares_cores && !*run.deterministic && number(run.threads).value_or(0) == 0)
    limits.most_threads = usable_cores();
  return limits;
}

LastBatch last_batch(const std::string& name) {
  return name == "drop" ? LastBatch::drop : name == "pad" ? LastBatch::pad : LastBatch::wrap;
}

/// Returns the refusal of [batch_augment] for groups of rows, each of which has fields and a size of its own.
UserError refusal_of_mixing(const Config& config, const Mixing& mixing) {
  const auto at = [&](const char* table, const char* key) {
    const Settings& first = config.list("data.source").front();
    return config.table(table).error(
        key,
        concat("rows of the [[data.source]]s is given, too (", first.origin("rows").text(), "), and batches of ",
               "several kinds of rows are not augmented as a whole"),
        ExitCode::usage, "leave it out; a sampler or the transform `image` augments each picture by itself");
  };
  if (mixing.mixes()) return at("batch_augment", mixing.mixup > 0 ? "mixup" : "cutmix");
  return mixing.erase.prob > 0 ? at("batch_augment.erase", "prob") : at("batch_augment.color", "prob");
}

/// Refuses settings that do not fit the sampler's rows.
void check_mixing(const Config& config, const std::vector<Field>& fields) {
  const Mixing mixing = mixing_of(config);
  if (!mixing.any()) return;
  if (has_groups(config)) throw refusal_of_mixing(config, mixing);
  const auto has = [&](auto wanted) { return std::any_of(fields.begin(), fields.end(), wanted); };
  const bool image = has([](const Field& field) { return is_image(field); });
  const bool rgb = has([](const Field& field) { return is_image(field) && field.shape[2] == 3; });
  const bool label = has([](const Field& f) { return f.name == "label" && f.dtype == DType::i64 && f.shape.empty(); });
  const bool target = has([](const Field& field) { return field.name == "target"; });

  const auto refuse = [&](const char* table, const char* key, const char* what) {
    const Settings& sampler = config.table("sampler");
    throw config.table(table).error(key,
                                    concat("sampler.name = ", to_toml(sampler.value("name")), " (",
                                           sampler.origin("name").text(), ") gives no ", what),
                                    ExitCode::usage, "set it to 0, or choose another sampler");
  };
  const auto alpha = mixing.mixup > 0 ? "mixup" : "cutmix";
  if (!image && mixing.mixes()) refuse("batch_augment", alpha, "`image` of bytes to work on");
  if (!image && mixing.erase.prob > 0) refuse("batch_augment.erase", "prob", "`image` of bytes to work on");
  if (!rgb && mixing.color.any()) refuse("batch_augment.color", "prob", "`image` of bytes in red, green and blue");
  if (mixing.mixes() && (!label || target)) refuse("batch_augment", alpha, "class `label` alone to mix");
}

/// The records of a data set, whose pictures appear in the form of others: for making a sampler, which reads one.
class InFormOf final : public Dataset {
 public:
  /// `stored` must outlive it.
  InFormOf(const Dataset& stored, const StoredForm& form) : stored_(stored), form_(form) {
    if (form_.encoding == Encoding::image) return;
    const auto side = [](int given) { return static_cast<std::uint32_t>(std::max(given, 1)); };
    height_ = side(form_.height), width_ = side(form_.width);
    blank_.resize(std::size_t{height_} * width_ * static_cast<std::size_t>(form_.channels));
  }

  std::uint64_t size() const override { return stored_.size(); }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    Record record = stored_.read(id, buffer);
    record.region = {0, 0, 0, 0, -1};
    record.encoding = form_.encoding == Encoding::image ? Encoding::image : Encoding::pixels;
    if (record.encoding == Encoding::image) return record;
    record.bytes = blank_;
    record.height = height_, record.width = width_, record.channels = static_cast<std::uint32_t>(form_.channels);
    if (form_.height == 0) record.region = {0, 0, 1, 1, 0};  // Only parts of pictures have no common size.
    return record;
  }
  std::vector<PartForm> parts() const override { return stored_.parts(); }
  std::int64_t label(std::uint64_t id) const override { return stored_.label(id); }
  std::vector<std::string> classes() const override { return stored_.classes(); }
  std::string missing_labels() const override { return stored_.missing_labels(); }
  bool has_boxes() const override { return stored_.has_boxes(); }
  std::shared_ptr<const BoxAnnotations> annotations() const override { return stored_.annotations(); }
  std::string describe(std::uint64_t id) const override { return stored_.describe(id); }
  bool resident() const override { return stored_.resident(); }
  std::uint64_t fingerprint() const override { return stored_.fingerprint(); }

 private:
  const Dataset& stored_;
  StoredForm form_;
  std::uint32_t height_ = 0, width_ = 0;
  std::vector<std::byte> blank_;
};

std::string describe_form(const StoredForm& form) {
  const std::string channels = concat(form.channels, form.channels == 1 ? " channel" : " channels");
  if (form.encoding == Encoding::image) return "picture files";
  return form.height > 0 ? concat("pictures of ", form.height, "x", form.width, " with ", channels)
                         : concat("parts of pictures with ", channels);
}

/// Throws UserError(data) if the sampler can make rows of none of the first records.
void check_first_rows(const Sampler& sampler, const Dataset& dataset, const Settings& data, const StoredForm& own,
                      const StoredForm& learnt) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> row;
  for (auto& field : sampler.fields()) memory.emplace_back(field.row_bytes());
  row.reserve(memory.size());
  for (auto& bytes : memory) row.push_back(bytes.data());
  ReadBuffer buffer;
  std::string problem;
  for (std::uint64_t id = 0; id < std::min(dataset.size(), records_tried); ++id) try {
      Stream random(0, Purpose::sample, id);
      return sampler.sample(dataset.read(id, buffer), random, row);
    } catch (const SampleError& error) {
      if (problem.empty()) problem = concat(dataset.describe(id), ": ", error.what());
    }
  throw data.error("dataset",
                   concat("these are ", describe_form(own), ", and the training data are ", describe_form(learnt),
                          "; the sampler cannot make rows of one form of both: ", problem),
                   ExitCode::data, "store both in one form, or choose a sampler that resizes: classify");
}

/// Makes the sampler of validation data, whose pictures may be stored in another form than those that the net learns
/// from.
std::unique_ptr<Sampler> validation_sampler(const Config& config, const Dataset& dataset, bool needs_targets,
                                            const std::optional<StoredForm>& learnt) {
  const auto make = [&](const Dataset& from) { return make_sampler(config, {from, false, needs_targets}); };
  if (!learnt) return make(dataset);
  const StoredForm own = record_form(pixel_form(dataset));
  const auto looks = [](const StoredForm& form) {
    return std::tuple(form.encoding == Encoding::image, form.height, form.width, form.channels);
  };
  if (looks(own) == looks(*learnt)) return make(dataset);
  auto sampler = make(InFormOf(dataset, *learnt));
  check_first_rows(*sampler, dataset, config.data(false), own, *learnt);
  return sampler;
}

}  // namespace

std::uint32_t batch_rows(const Config& config, bool training, std::uint64_t world) {
  const LoaderKeys loader = config.loader();
  if (const auto own = *config.val().batch; !training && own > 0) return static_cast<std::uint32_t>(own);
  if (!training && has_groups(config)) return rows_of_groups(config)[group_of_validation(config)];
  if (const auto per_rank = static_cast<std::uint64_t>(*loader.batch_per_rank); per_rank > 0)
    return static_cast<std::uint32_t>(per_rank * world);
  return static_cast<std::uint32_t>(number(loader.batch).value());
}

std::unique_ptr<Order> make_validation_order(const Config& config, const Dataset& dataset) {
  const auto& sequential = orders().at("sequential");
  return sequential.make(Settings("order", sequential.keys), {dataset, seed_of(config)});
}

DataParts with_dataset(std::unique_ptr<Dataset> dataset, const Config& config, bool training, const std::string& device,
                       const DataSlice& data_slice, bool needs_targets, const std::optional<StoredForm>& learnt) {
  const LoaderKeys loader = config.loader();
  DataParts parts;
  parts.dataset = std::move(dataset);
  parts.batch = batch_rows(config, training, data_slice.slice.world);
  if (training && parts.batch < data_slice.slice.world)
    throw loader.batch.error("a batch of " + std::to_string(parts.batch) + " rows for " +
                             std::to_string(data_slice.slice.world) + " processes: each needs one at least");

  if (training) {
    auto [order, shares] = make_training_order(config, *parts.dataset, parts.batch, seed_of(config));
    parts.order = std::move(order);
    parts.sources = std::move(shares);
  } else {
    parts.order = make_validation_order(config, *parts.dataset);
  }
  parts.sampler = training ? make_sampler(config, {*parts.dataset, training, needs_targets})
                           : validation_sampler(config, *parts.dataset, needs_targets, learnt);
  if (training) check_mixing(config, parts.sampler->fields());
  parts.slice = data_slice.slice;
  const LastBatch last = training ? last_batch(*loader.last_batch) : LastBatch::pad;
  // A plan by lengths cuts batches of its own.
  const bool is_cut_later = training && *loader.budget > 0;
  parts.batches = Batches(parts.order->size(), parts.batch, is_cut_later ? LastBatch::pad : last);
  set_shape_plan(parts, config, training, last);
  if (training && *loader.cache_mb > 0)
    parts.dataset = with_picture_cache(std::move(parts.dataset), static_cast<std::uint64_t>(*loader.cache_mb) << 20);

  parts.prefetch = training ? static_cast<std::uint32_t>(*loader.prefetch) : validation_prefetch;
  parts.workers = workers_of(training ? loader.workers : config.val().workers, data_slice.processes_here);
  parts.readers = training ? static_cast<unsigned>(*loader.readers) : 1;
  parts.read_ahead = static_cast<std::uint64_t>(*loader.read_ahead);
  if (training && !number(loader.workers) && data_slice.slice.world == 1)
    parts.tunes = tuning_limits(config, parts, device);
  const std::uint32_t most_prefetch = parts.tunes ? parts.tunes->most.prefetch : parts.prefetch;
  parts.device = make_device(device, Loader::slabs(most_prefetch), *loader.pin);
  return parts;
}

// The batches do not depend on the number of workers; threads without end cost memory and time.
unsigned workers_of(const Setting<Value>& key, unsigned processes_here) {
  constexpr unsigned per_core = 8, always = 64;
  const unsigned cores = usable_cores(), most = std::max(always, per_core * cores);
  const auto workers = number(key);
  if (!workers) return std::max(1u, cores / processes_here);
  if (*workers <= most) return static_cast<unsigned>(*workers);
  log_warn(concat(key.table().table(), ".workers = ", *workers, " (", key.origin().text(), "): ", most,
                  " are taken, as this machine has ", cores, cores == 1 ? " core" : " cores"));
  return most;
}

std::unique_ptr<Device> make_device(const std::string& name, std::uint32_t slots, bool pin) {
  if (name == "cpu") return make_cpu_device();
  return make_cuda_device(std::stoi(name.substr(name.find(':') + 1)), slots, pin);
}

Mixing mixing_of(const Config& config) {
  const Settings& mix = config.table("batch_augment");
  const Settings& erase = config.table("batch_augment.erase");
  const auto range = [&](const char* key) { return std::array{erase.reals(key)[0], erase.reals(key)[1]}; };
  Mixing mixing;
  mixing.mixup = mix.real("mixup");
  mixing.cutmix = mix.real("cutmix");
  mixing.prob = mix.real("prob");
  mixing.switch_prob = mix.real("switch_prob");
  const Settings& color = config.table("batch_augment.color");
  mixing.color = {color.real("prob"), color.real("brightness"), color.real("contrast"), color.real("saturation"),
                  color.real("hue")};
  mixing.erase = {erase.real("prob"), range("scale"), range("ratio"), erase.text("value") == "random"};
  return mixing;
}

DataParts open_training_data(const Config& config, const std::string& device, const DataSlice& data_slice,
                             bool keeps_split) {
  return with_dataset(open_dataset(config, true, keeps_split), config, true, device, data_slice);
}

LearntData learnt_data(const Config& config) {
  std::unique_ptr<Dataset> training;
  try {
    training = open_dataset(config, true);
  } catch (const EmptyDataset&) {
    return {};
  } catch (const UserError& error) {
    if (!config.data(true).text("path").empty())
      warn(concat("the training data cannot be opened, so labels are numbered by the validation data alone: ",
                  error.what()));
    return {};
  }
  const auto fields = validation_fields(config);
  const bool has_labels = fields.empty() || std::ranges::any_of(fields, [](auto& field) {
                            return field.text("as") == "label" || field.text("as") == "labels";
                          });
  return {has_labels ? training->classes() : std::vector<std::string>(), record_form(learnt_pixels(config, *training))};
}

DataParts open_validation_data(const Config& config, const LearntData& learnt, const std::string& device,
                               const DataSlice& data_slice, bool is_leader, bool needs_targets) {
  return with_dataset(open_validation_dataset(config, learnt.classes, is_leader), config, false, device, data_slice,
                      needs_targets, learnt.form);
}

SlabLayout slab_layout(const DataParts& data) {
  return slab_layout(data.sampler->fields(), static_cast<std::uint32_t>(data.slice.most(data.batch)), data.plan.get());
}

std::uint32_t most_slabs(const Config& config, const DataParts& data, std::size_t batch_bytes) {
  return Loader::slabs(data.tunes ? deepest_prefetch(config.loader(), batch_bytes) : data.prefetch);
}

LoaderParts loader_parts(const std::string& name, const DataParts& data, const Config& config, std::uint64_t first,
                         std::uint64_t last) {
  LoaderParts parts{name, *data.dataset, *data.order, *data.sampler, *data.device, data.batches};
  parts.seed = seed_of(config);
  parts.slice = data.slice;
  parts.batch = static_cast<std::uint32_t>(data.slice.most(data.batch));
  parts.plan = data.plan.get();
  parts.accum = name == "train" ? static_cast<std::uint32_t>(*config.train().accum) : 1;
  parts.shape = {data.workers, data.readers, data.prefetch};
  parts.read_ahead = data.read_ahead;
  parts.iterations.first = first;
  parts.iterations.last = last;
  return parts;
}

std::string choose_device(const Config& config, unsigned local_rank, unsigned processes_here) {
  const auto device = config.run().device;
  const std::string& wish = *device;
  if (wish.starts_with("cuda:") && processes_here > 1)
    throw device.error(wish + " is one GPU, for " + std::to_string(processes_here) + " processes", ExitCode::usage,
                       "\"cuda\" gives each of them its own");
  if (wish != "auto" && wish != "cuda") return wish;
  const int gpus = count_gpus();
  const int own = gpus > 0 ? static_cast<int>(local_rank % static_cast<unsigned>(gpus)) : 0;
  std::string name = "cuda:" + std::to_string(own);
  if (wish == "cuda") return name;
  if (gpus == 0) return "cpu";
  try {
    make_cuda_device(own, 1);
    return name;
  } catch (const UserError&) {
    return "cpu";  // Some of LibTorch's CUDA libraries are missing.
  }
}

int gpus_to_share(const Config& config) {
  const std::string& wish = *config.run().device;
  return wish == "auto" || wish == "cuda" ? count_gpus() : 0;
}

std::uint64_t seed_of(const Config& config) {
  const auto seed = number(config.run().seed);
  if (!seed) throw InternalError("run.seed was not drawn");
  return static_cast<std::uint64_t>(*seed);
}

Every epoch_of(const Config& config, const Batches& batches) {
  return {batches.per_epoch(), static_cast<std::uint64_t>(*config.train().accum)};
}

RunPlan make_run_plan(const Config& config, const Batches& batches, std::uint64_t first, bool validate) {
  const Every epoch = epoch_of(config, batches);
  RunPlan run_plan;
  run_plan.first = first;
  const auto iterations = static_cast<std::uint64_t>(*config.run().max_iter);
  const auto epochs = static_cast<std::uint64_t>(*config.run().max_epochs);
  run_plan.last = iterations > 0 ? iterations : epoch.iterations(std::max<std::uint64_t>(epochs, 1));
  run_plan.accum = static_cast<std::uint32_t>(*config.train().accum);
  run_plan.validate_every = validate ? period(config.val().every).to_iterations(epoch) : Every();
  run_plan.snapshot_every = period(config.snapshot().every, true).to_iterations(epoch);
  run_plan.hash_every = period(config.table("verify"), "every").to_iterations(epoch);
  run_plan.final_snapshot = *config.snapshot().final;
  run_plan.optimizers = hyper_parameter_plans(config, batches.size() * run_plan.accum, epoch, run_plan.last);
  return run_plan;
}

bool validates_average(const Config& config) {
  const Settings& ema = config.table("ema");
  return ema.real("decay") > 0 && ema.boolean("validate");
}

}  // namespace flowtrain
