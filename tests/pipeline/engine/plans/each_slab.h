#pragma once
// The batches of a training loader, process by process.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/session/assembly.h"

namespace flowtrain::testing {

/// Loads iterations `first` to `last` in each process of a world, and calls `take` with the number, from 0, of each
/// batch and the process's slab of it.
template <class Take>
void for_each_slab(const Config& config, std::uint64_t first, std::uint64_t last, unsigned workers, std::uint64_t world,
                   const Take& take) {
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    const DataParts data = open_training_data(config, "cpu", {.slice = {rank, world}});
    LoaderParts parts = loader_parts("train", data, config, first, last);
    parts.shape.workers = workers;
    Loader loader(std::move(parts));
    loader.start();
    std::size_t batch = 0;
    for (Ticket ticket; loader.next(ticket); loader.release(ticket)) {
      const Slab& slab = loader.slab(ticket);
      if (slab.error()) std::rethrow_exception(slab.error());
      take(batch++, slab);
    }
    loader.check_finished();
  }
}

}  // namespace flowtrain::testing
