#pragma once
// Packs any data set with labels as tar shards.

#include <cstdint>
#include <filesystem>
#include <optional>

#include "pipeline/base/config/config.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/tools/pack/shard_writer.h"
#include "sampling/images/repack.h"

namespace flowtrain {

struct PackOptions {
  std::filesystem::path out;      ///< the folder is new or empty, or holds another packed split
  bool train = true, val = true;  ///< the splits to pack
  ShardLimits limits = {};
  std::optional<std::uint64_t> shuffle;  ///< with a seed, the order is random; otherwise it is that of the data set
  bool sort = false;                     ///< sorts by label instead
  Repacking pictures = {};               ///< format, quality and edge are set here, the rest by the sampler's settings
};

/// Writes `out`/train and `out`/val: the shards, classes.txt with the names of the classes if there are any, and
/// bad_samples.jsonl with the samples that were left out if there were any. Each of these folders appears only when it
/// is complete on the disk. Prints a line for each on standard output. Returns the exit code: 0, or that of an
/// interruption, which leaves nothing of the folder under way. Throws UserError: usage for `out` and for data sets that
/// have boxes in place of labels, data for data sets that cannot be opened and as data.bad and data.max_bad say,
/// snapshot for disks.
int pack(const Config& config, PackOptions options, Interrupt& interrupt);

}  // namespace flowtrain
