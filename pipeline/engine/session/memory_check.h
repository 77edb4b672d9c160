#pragma once
// Checks whether the batches of a run fit into this machine's memory, before they are allocated.

#include <cstdint>
#include <vector>

#include "pipeline/engine/memory/free_memory.h"
#include "pipeline/engine/session/assembly.h"

namespace flowtrain {

/// The loaders of one process.
struct MemoryNeed {
  const Config& config;
  const DataParts* train = nullptr;               ///< Null if nothing is trained.
  std::vector<const DataParts*> validation = {};  ///< The data of each set.
  bool computes = true;                           ///< A net takes the batches.
  unsigned processes_here = 1;                    ///< The processes that need as much of this machine's memory.
};

/// Throws UserError(usage) if all batches that the loaders prepare ahead, and on the CPU the current one as the net
/// takes it (f32), need more than `free_bytes`. The error names the keys, the need and the free memory. The other
/// memory of a step does not count here.
void check_memory(const MemoryNeed& need, std::uint64_t free_bytes = free_memory());

}  // namespace flowtrain
