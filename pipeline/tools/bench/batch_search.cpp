#include "pipeline/tools/bench/batch_search.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/memory/free_memory.h"
#include "pipeline/engine/report/describe_net.h"
#include "sampling/core/settings.h"
#include "sampling/field_text.h"

namespace flowtrain {

namespace {

// Returns the free memory that batches may use. The rest is for a snapshot's copy of the state and fragmentation.
std::uint64_t spare(std::uint64_t free_bytes) { return free_bytes / 10 * 8; }

// Returns the batches for validation, which are as large as those for training by default.
std::uint32_t validation_slabs(const Config& config) {
  const ValKeys val = config.val();
  if (period(val.every).off() || *val.batch > 0) return 0;
  return static_cast<std::uint32_t>(1 + config.list("val.set").size()) * Loader::slabs(validation_prefetch);
}

// Returns the bytes of the weights' copy for async validation. Its batches keep little without gradients.
std::uint64_t validated_copy(const Config& config, const NetSummary& net) {
  const ValKeys val = config.val();
  if (period(val.every).off() || *val.mode == "inline") return 0;
  return weight_bytes(net);
}

// Makes a slab. If a device has too little memory, its driver's message says so.
std::unique_ptr<Slab> make_slab(const SlabLayout& layout, Device& device) {
  try {
    return std::make_unique<Slab>(layout, device);
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const std::runtime_error&) {
    if (!device.copies()) throw;
    return nullptr;
  }
}

// Returns the shape of a batch of `rows` rows that needs the most memory: its free axes are as long as in the longest
// samples.
BatchShape largest_shape(const ShapePlan* plan, const SlabLayout& layout, std::uint32_t rows) {
  if (!plan) return {.rows = rows};
  std::vector<std::size_t> offsets(layout.fields().size()), row_bytes(layout.fields().size());
  const auto bytes_of = [&](const BatchShape& shape) { return layout.place(shape, offsets, row_bytes); };
  return std::ranges::max(plan->shapes(rows), {}, bytes_of);
}

// Fills a slab with the rows of `few`, repeatedly. Memory depends only on the rows' form and number.
void fill(Slab& slab, const Slab& few, const BatchShape& shape) {
  slab.begin(few.ticket(), few.epoch(), shape, 1);
  std::memset(slab.host(), 0, slab.bytes());
  const auto records = slab.rows();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RowWork& source = few.rows()[i % few.rows().size()];
    records[i].position = source.position;
    records[i].id = source.id;
    records[i].place = source.place;
    records[i].place.row = static_cast<std::uint32_t>(i * shape.rows / records.size());
  }
  for (std::size_t field = 0; field < slab.layout().fields().size(); ++field)
    for (std::uint32_t row = 0; few.rows_of(field) > 0 && row < slab.rows_of(field); ++row)
      std::memcpy(slab.host() + slab.offset(field) + row * slab.row_bytes(field),
                  few.host() + few.offset(field) + row % few.rows_of(field) * few.row_bytes(field),
                  std::min(few.row_bytes(field), slab.row_bytes(field)));
  if (slab.owner().copies()) slab.owner().start_copy(slab.ticket().slot, slab.device(), slab.host(), slab.bytes());
}

// Describes the fields with free axes at these extents: "tokens i64 412".
std::string longest_fields(const std::vector<Field>& fields, std::span<const std::int64_t> extents) {
  std::vector<Field> longest;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].free_axes > 0) longest.push_back(stored_shape(fields[i], extents_of(fields, i, extents)));
  return describe_fields(longest);
}

}  // namespace

FoundRows fit_batch(const Config& config, const SessionOptions& options, const MakeLearner& make_learner) {
  SessionOptions alone = options;
  alone.group = &solo_group();
  alone.mode = TrainMode::full;
  alone.dry_run = false;
  Session session(config, alone);
  const DataParts& data = session.open_training();
  session.prepare();
  const auto loader = session.make_loader(loader_parts("train", data, config));
  const auto learner = session.make_learner(make_learner, loader->layout());
  loader->start();
  Slab& few = first_batch(*loader);
  Device& copies_to = few.owner();
  MemoryProbe& probe = *learner->memory_probe();
  const auto host_limit = spare(free_memory() / options.processes_here);
  const auto free_bytes = probe.free_bytes();
  const std::uint64_t copy = validated_copy(config, learner->net_summary());
  const auto processes = static_cast<std::uint64_t>(options.group->size());
  // Returns the bytes that a step, all slabs and the copy take on the net's device; nothing if they do not fit.
  const auto attempt = [&](std::uint32_t rows) -> std::optional<std::uint64_t> {
    if (!epoch_has_all(config, data.sources, rows * processes)) return {};
    const BatchShape shape = largest_shape(data.plan.get(), few.layout(), rows);
    const SlabLayout layout(few.layout().fields(), {shape});
    const std::uint64_t slabs = most_slabs(config, data, layout.bytes()) + validation_slabs(config);
    const std::uint64_t batches = slabs * layout.bytes();
    if (copies_to.copies() && batches > host_limit) return {};
    const auto slab = make_slab(layout, copies_to);
    if (!slab) return {};
    fill(*slab, few, shape);
    const auto step = probe.step_bytes(*slab);
    log_debug(concat("a batch of ", rows, ": ", step ? "a step takes " + format_bytes(*step) : "a step does not fit",
                     ", batches ahead ", format_bytes(batches)));
    return step ? std::optional(*step + batches + copy) : std::nullopt;
  };
  const LoaderKeys keys = config.loader();
  const auto requested = static_cast<std::uint64_t>(*keys.batch_max);
  const std::uint64_t samples = requested > 0 ? std::min(requested, data.order->size()) : data.order->size();
  const auto most =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max<std::uint64_t>(samples / processes, 1), 1u << 24));
  const auto limit = static_cast<std::uint64_t>(*keys.batch_memory_mb) << 20;
  if (data.plan && !data.plan->packed && options.group->leads())
    log_info("loader.batch = \"auto\": rows are tried as long as the longest sample: " +
             longest_fields(few.layout().fields(), largest_shape(data.plan.get(), few.layout(), 1).extents));
  const FoundRows found = find_rows(most, limit > 0 ? limit : free_bytes ? spare(*free_bytes) : host_limit, attempt);
  loader->stop();
  return found;
}

}  // namespace flowtrain
