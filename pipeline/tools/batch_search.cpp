#include "pipeline/tools/batch_search.h"

#include <algorithm>
#include <optional>

#include "pipeline/config/periods.h"
#include "pipeline/session/free_memory.h"
#include "pipeline/tools/batch_trial.h"
#include "sampling/core/settings.h"

namespace flowtrain {

namespace {

// What else a run needs (a snapshot's copy of the state, say) and what is lost between pieces of memory is left.
std::uint64_t spare(std::uint64_t free_bytes) { return free_bytes / 10 * 8; }

// Of batches for validation, which are as large as those for training unless said otherwise.
std::uint32_t validation_slabs(const Config& config) {
  const Settings& val = config.table("val");
  if (period(val, "every").off() || val.integer("batch") > 0) return 0;
  return static_cast<std::uint32_t>(1 + config.list("val.set").size()) * Loader::slabs(validation_prefetch);
}

// Of the weights that an overlapped validation looks at. Its batches are not reckoned: without gradients little of one
// is kept.
std::uint64_t validated_copy(const Config& config, const NetSummary& net) {
  const Settings& val = config.table("val");
  if (period(val, "every").off() || val.text("mode") == "inline") return 0;
  std::uint64_t bytes = net.buffer_bytes;
  for (auto& parameter : net.parameters) bytes += parameter.bytes;
  return bytes;
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
  const auto line = session.make_loader(loader_parts("train", data, config));
  const auto learner = session.make_learner(make_learner, line->layout());
  line->start();
  BatchTrial trial(first_batch(*line), *learner->memory_probe());
  trial.slabs = [&](std::size_t batch_bytes) {
    return most_slabs(config, data, batch_bytes) + validation_slabs(config);
  };
  trial.host_limit = spare(free_memory() / options.processes_here);
  const auto device = learner->memory_probe()->free_bytes();
  const std::uint64_t copy = validated_copy(config, learner->net_summary());
  const auto processes = static_cast<std::uint64_t>(options.group->size());
  const auto attempt = [&](std::uint32_t rows) -> std::optional<std::uint64_t> {
    if (!epoch_has_all(config, data.sources, rows * processes)) return std::nullopt;
    const auto bytes = trial(rows);
    return bytes ? std::optional(*bytes + copy) : std::nullopt;
  };
  const Settings& loader = config.table("loader");
  const auto wished = static_cast<std::uint64_t>(loader.integer("batch_max"));
  const std::uint64_t samples = wished > 0 ? std::min(wished, data.order->size()) : data.order->size();
  const auto most =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max<std::uint64_t>(samples / processes, 1), 1u << 24));
  const auto limit = static_cast<std::uint64_t>(loader.integer("batch_memory_mb")) << 20;
  const FoundRows found = find_rows(most, limit > 0 ? limit : device ? spare(*device) : trial.host_limit, attempt);
  line->stop();
  return found;
}

}  // namespace flowtrain
