#include "pipeline/engine/loader/data_loader.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include "pipeline/engine/loader/batch_memory.h"
#include "pipeline/engine/loader/stream_rules.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/session/bad_sample_log.h"
#include "sampling/core/error.h"
#include "stages/loader/finished_sampler.h"

namespace flowtrain {
namespace {

DataParts open_parts(const Config& given, const DataLoaderOptions& options, std::unique_ptr<Dataset> dataset) {
  check_seed(given);
  const bool by_budget = *given.loader().budget > 0;  // the plan, not the stream, cuts the batches
  const Config config = by_budget ? given.with("loader", "last_batch", options.drop_last ? "drop" : "pad") : given;
  const DataSlice slice{options.slice, 1};
  if (!dataset && options.training) dataset = open_dataset(config, true);
  DataParts parts = dataset ? with_dataset(std::move(dataset), config, options.training, "cpu", slice,
                                           /*needs_targets=*/options.training)
                            : open_validation_data(config, learnt_data(config), "cpu", slice, /*is_leader=*/false,
                                                   /*needs_targets=*/false);
  check_batch(parts.batch, parts.plan && parts.plan->chooses_rows() ? parts.batch : parts.order->size(),
              options.slice.world, options.drop_last);
  if (options.memory) parts.device = options.memory;
  parts.sampler = with_finished_images(std::move(parts.sampler), options.floats);
  return parts;
}

LastBatch last_batch_of(const DataLoaderOptions& options) {
  return options.drop_last ? LastBatch::drop : LastBatch::pad;
}

// oneTBB takes the least of all limits that exist, so loaders share a large one. Each has an arena of as many places as
// workers.
std::shared_ptr<Scheduler> common_scheduler() {
  constexpr unsigned most_workers = 1024;
  static Mutex mutex;
  static std::weak_ptr<Scheduler> shared;
  const MutexLock lock(mutex);
  auto scheduler = shared.lock();
  if (!scheduler) shared = scheduler = std::make_shared<Scheduler>(most_workers);
  return scheduler;
}

}  // namespace

/// The data and the memory of batches, which all streams of them share.
struct DataLoader::Opened {
  Opened(const Config& config, const DataLoaderOptions& options, std::unique_ptr<Dataset> dataset)
      : data(open_parts(config, options, std::move(dataset))),
        classes(data.dataset->classes()),
        layout(slab_layout(data)),
        fields(layout.fields()),
        memory(std::make_shared<BatchMemory>(data.device, layout.bytes(), /*reuse=*/!options.memory)),
        scheduler(common_scheduler()) {
    for (auto& field : fields) field.shape = seen_shape(field);
  }
  Opened(const Opened&) = delete;

  DataParts data;
  const std::vector<std::string> classes;
  const SlabLayout layout;
  std::vector<Field> fields;
  std::shared_ptr<BatchMemory> memory;
  std::shared_ptr<Scheduler> scheduler;
};

/// Loads one stream.
struct DataLoader::Impl {
  Impl(const Config& config, const DataLoaderOptions& options, std::shared_ptr<const Opened> from)
      : opened(std::move(from)),
        bad(make_bad_sample_log(config, options.training, *opened->data.dataset, nullptr, options.slice.rank == 0)) {}
  Impl(const Impl&) = delete;

  EpochCursor cursor(const DataLoaderOptions& options) const {
    return {data.batches.epoch_end(), data.batches.size(), options.drop_last};
  }
  Batches batches_from(const DataLoaderOptions& options, StreamPosition position) const {
    return {data.batches.epoch_end(), data.batches.size(), last_batch_of(options), position.epoch, position.samples};
  }
  // Other threads ask `loader` for its times meanwhile. The previous one ends here, after the lock.
  void replace(std::unique_ptr<Loader> next = nullptr) {
    const MutexLock lock(mutex);
    loader.swap(next);
  }

  const std::shared_ptr<const Opened> opened;
  const DataParts& data = opened->data;
  const SlabLayout& layout = opened->layout;
  BatchMemory& memory = *opened->memory;
  BadSamples bad;
  mutable Mutex mutex = {};
  std::unique_ptr<Loader> loader = {};  // replace() changes it
  std::uint64_t given = 0;
};

DataLoader::DataLoader(Config config, DataLoaderOptions options, std::unique_ptr<Dataset> dataset)
    : config_(std::move(config)),
      options_(std::move(options)),
      impl_(std::make_unique<Impl>(config_, options_,
                                   std::make_shared<const Opened>(config_, options_, std::move(dataset)))),
      cursor_(impl_->cursor(options_)) {}

DataLoader::DataLoader(const Config& config, const DataLoaderOptions& options, std::shared_ptr<const Opened> opened)
    : config_(config),
      options_(options),
      impl_(std::make_unique<Impl>(config_, options_, std::move(opened))),
      cursor_(impl_->cursor(options_)) {}

std::unique_ptr<DataLoader> DataLoader::another() const {
  return std::unique_ptr<DataLoader>(new DataLoader(config_, options_, impl_->opened));
}

DataLoader::~DataLoader() = default;

std::uint64_t DataLoader::samples() const {
  const auto& plan = impl_->data.plan;
  return plan && plan->chooses_rows() ? impl_->data.dataset->size() : cursor_.samples();
}
const std::vector<Field>& DataLoader::fields() const { return impl_->opened->fields; }
const SlabLayout& DataLoader::layout() const { return impl_->layout; }
const std::vector<std::string>& DataLoader::classes() const { return impl_->opened->classes; }
std::string DataLoader::describe(std::uint64_t id) const {
  const std::uint64_t records = impl_->data.dataset->size();
  if (id >= records) throw std::out_of_range(concat("no sample ", id, ": there are ", records));
  return impl_->data.dataset->describe(id);
}
std::int64_t DataLoader::label(std::uint64_t id) const { return impl_->data.dataset->label(id); }
StoredForm DataLoader::stored_form() const { return flowtrain::stored_form(*impl_->data.dataset); }
std::shared_ptr<const BoxAnnotations> DataLoader::annotations() const { return impl_->data.dataset->annotations(); }
bool DataLoader::resident() const { return impl_->data.dataset->resident(); }
std::size_t DataLoader::memory_blocks() const { return impl_->memory.made(); }
LoaderTimes DataLoader::times() const {
  const MutexLock lock(impl_->mutex);
  return impl_->loader ? impl_->loader->times() : LoaderTimes{};
}
LoaderShape DataLoader::shape() const { return {impl_->data.workers, impl_->data.readers, impl_->data.prefetch}; }

// The loader goes on without a gap if the epoch before was taken whole.
void DataLoader::begin_epoch() {
  if (!cursor_.begin_epoch()) impl_->replace();
  if (!impl_->loader) restart();
}

void DataLoader::restart() {
  LoaderParts parts = loader_parts("loader", impl_->data, config_);
  parts.batches = impl_->batches_from(options_, cursor_.position());
  auto loader = std::make_unique<Loader>(std::move(parts));
  loader->start();
  impl_->replace(std::move(loader));
}

std::optional<std::unique_ptr<LoadedBatch>> DataLoader::next_within(std::chrono::microseconds patience) {
  if (!impl_->loader || cursor_.left() == 0) return nullptr;
  Loader& loader = *impl_->loader;
  Ticket ticket;
  const auto one = loader.next_within(ticket, patience);
  if (!one) return {};
  if (!*one) throw InternalError("the loader ended");
  Slab& slab = loader.slab(ticket);
  try {
    if (ticket.kind == TicketKind::bad) std::rethrow_exception(slab.error());
    impl_->bad.account(slab.bad(), ++impl_->given);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    impl_->replace();  // it ends with such a batch; the next epoch has a new one
    std::rethrow_exception(error);
  }
  auto batch = std::make_unique<LoadedBatch>();
  batch->epoch = slab.epoch();
  batch->rows = slab.row_count();
  batch->ids.reserve(batch->rows);
  for (const RowWork& row : slab.rows()) batch->ids.push_back(row.id);
  batch->layout = &impl_->layout;
  for (std::size_t field = 0; impl_->data.plan && field < impl_->layout.fields().size(); ++field) {
    batch->shapes.push_back(seen_shape(slab.field(field)));
    batch->offsets.push_back(slab.offset(field));
    batch->field_rows.push_back(slab.rows_of(field));
  }
  batch->memory = impl_->memory.hold(slab.exchange_memory(impl_->memory.take()));
  loader.release(ticket);
  cursor_.advance();
  return batch;
}

void DataLoader::seek(StreamPosition position) {
  if (const auto& plan = impl_->data.plan; plan && !plan->groups.empty() && position.samples % batch_size() != 0)
    throw UserError(ExitCode::usage,
                    concat("a position after ", position.samples, " rows: batches have ", batch_size(),
                           ", those of all [[data.source]]s"),
                    "pass what state_dict() has returned");
  cursor_.seek(position);
  close();
}

std::map<std::string, std::string> DataLoader::basis() const {
  auto basis = stream_basis(config_, options_.training, *impl_->data.dataset, samples(), batch_size());
  if (const auto& plan = impl_->data.plan; plan && plan->bucketed) {  // they decide which records share a batch
    basis["loader.batch"] = std::to_string(impl_->data.batch);
    basis["drop_last"] = options_.drop_last ? "true" : "false";
  }
  if (const auto& plan = impl_->data.plan; plan && plan->sizes && plan->sizes->goes_by_run()) {
    basis["run.max_iter"] = std::to_string(*config_.run().max_iter);
    basis["run.max_epochs"] = std::to_string(*config_.run().max_epochs);
  }
  return basis;
}

void DataLoader::close() {
  impl_->replace();
  cursor_.end();
}

}  // namespace flowtrain
