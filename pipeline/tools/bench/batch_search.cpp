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

// Fills a slab with the rows of `few`, repeatedly. Memory depends only on the rows' form and number.
void fill(Slab& slab, const Slab& few, std::uint32_t rows) {
  slab.begin(few.ticket(), few.epoch(), rows, 1);  // free axes are at their bounds, which need the most memory
  std::memset(slab.host(), 0, slab.bytes());
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::size_t source = row % few.rows().size();
    slab.rows()[row].position = few.rows()[source].position;
    slab.rows()[row].id = few.rows()[source].id;
    for (std::size_t field = 0; field < slab.layout().fields().size(); ++field)
      std::memcpy(slab.host() + slab.offset(field) + row * slab.row_bytes(field),
                  few.host() + few.offset(field) + source * few.row_bytes(field), few.row_bytes(field));
  }
  if (slab.owner().copies()) slab.owner().start_copy(slab.ticket().slot, slab.device(), slab.host(), slab.bytes());
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
    const SlabLayout layout(few.layout().fields(), rows);
    const std::uint64_t slabs = most_slabs(config, data, layout.bytes()) + validation_slabs(config);
    const std::uint64_t batches = slabs * layout.bytes();
    if (copies_to.copies() && batches > host_limit) return {};
    const auto slab = make_slab(layout, copies_to);
    if (!slab) return {};
    fill(*slab, few, rows);
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
  const FoundRows found = find_rows(most, limit > 0 ? limit : free_bytes ? spare(*free_bytes) : host_limit, attempt);
  loader->stop();
  return found;
}

}  // namespace flowtrain
