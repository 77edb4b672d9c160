#pragma once
// Whether the batches of a run fit into this machine's memory, before it is asked for.

#include <cstdint>
#include <vector>

#include "pipeline/engine/memory/free_memory.h"
#include "pipeline/engine/session/assembly.h"

namespace flowtrain {

/// The lines of one process.
struct MemoryNeed {
  const Config& config;
  const DataParts* train = nullptr;               ///< null: nothing is trained
  std::vector<const DataParts*> validation = {};  ///< of each set
  bool computes = true;                           ///< a net takes the batches
  unsigned processes_here = 1;                    ///< that need as much of this machine's memory
};

/// Throws UserError(usage) where all batches that the lines prepare ahead, and on the CPU the one in work as the net
/// takes it (f32), take more than `free_bytes`: it names the keys, the need and what is free. What else a step takes
/// is not foretold here.
void check_memory(const MemoryNeed& need, std::uint64_t free_bytes = free_memory());

}  // namespace flowtrain
