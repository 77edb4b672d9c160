#pragma once
// loader.batch = "auto", carried out: steps of a net with batches of the line's samples.

#include <cstdint>

#include "pipeline/session/assembly.h"
#include "pipeline/tools/auto_batch.h"
#include "stages/compute.h"

namespace flowtrain {

/// What is tried, and who else needs memory.
struct BatchSearch {
  const Config& config;  ///< with a batch of a few
  const DataParts& data;
  Line& line;                   ///< of the data; not started
  Learner& learner;             ///< for rows of that line's; to be thrown away
  std::uint64_t processes = 1;  ///< that train together, of which this one alone is here
  unsigned processes_here = 1;  ///< that share this machine's memory
};

/// The largest batch of this process. Stops the line. Throws what the data and the net give.
FoundRows search_batch(const BatchSearch& search);

}  // namespace flowtrain
