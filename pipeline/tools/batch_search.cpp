#include "pipeline/tools/batch_search.h"

#include <algorithm>
#include <exception>

#include "pipeline/config/words.h"
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
  return static_cast<std::uint32_t>(1 + config.list("val.set").size()) * Line::slabs(validation_prefetch);
}

// Of the weights that an overlapped validation looks at. Its batches are not reckoned: without gradients little of one
// is kept.
std::uint64_t validated_copy(const Config& config, const NetFigures& net) {
  const Settings& val = config.table("val");
  if (period(val, "every").off() || val.text("mode") == "inline") return 0;
  std::uint64_t bytes = net.buffer_bytes;
  for (auto& parameter : net.parameters) bytes += parameter.bytes;
  return bytes;
}

// The line's first one.
Slab& first_batch(Line& line) {
  Ticket ticket;
  if (!line.next(ticket)) throw InternalError("the line ended");
  if (ticket.kind == TicketKind::bad) std::rethrow_exception(line.slab(ticket).error());
  return line.slab(ticket);
}

}  // namespace

FoundRows search_batch(const BatchSearch& search) {
  const Settings& loader = search.config.table("loader");
  search.line.start();
  BatchTrial trial(first_batch(search.line), *search.learner.memory_probe());
  trial.slabs = [&](std::size_t batch_bytes) {
    return most_slabs(search.config, search.data, batch_bytes) + validation_slabs(search.config);
  };
  trial.host_limit = spare(free_memory() / search.processes_here);
  const auto device = search.learner.memory_probe()->free_bytes();
  const std::uint64_t copy = validated_copy(search.config, search.learner.figures());
  const auto attempt = [&](std::uint32_t rows) -> std::optional<std::uint64_t> {
    if (!epoch_has_all(search.config, search.data.sources, rows * search.processes)) return std::nullopt;
    const auto bytes = trial(rows);
    return bytes ? std::optional(*bytes + copy) : std::nullopt;
  };
  const auto wished = static_cast<std::uint64_t>(loader.integer("batch_max"));
  const std::uint64_t samples = wished > 0 ? std::min(wished, search.data.order->size()) : search.data.order->size();
  const auto most = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::max<std::uint64_t>(samples / search.processes, 1), 1u << 24));
  const auto limit = static_cast<std::uint64_t>(loader.integer("batch_memory_mb")) << 20;
  const FoundRows found = find_rows(most, limit > 0 ? limit : device ? spare(*device) : trial.host_limit, attempt);
  search.line.stop();
  return found;
}

}  // namespace flowtrain
