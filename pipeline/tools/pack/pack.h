#pragma once
// Packs any data set with labels as tar shards, or any text as shards of token ids.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "pipeline/base/config/config.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/tools/pack/shard_writer.h"
#include "sampling/images/repack.h"

namespace flowtrain {

/// The choices for texts that are packed as token ids.
struct TokenPacking {
  std::string tokenizer;     ///< a file (open_tokenizer), or "bytes"
  std::string pattern = {};  ///< pattern of a rank file
  std::string end = {};      ///< special token after each document; "none": no token; empty: the tokenizer's usual one
  std::string part = {};     ///< part of a record that is packed; empty: the only text
};

struct PackOptions {
  std::filesystem::path out;      ///< the folder is new or empty, or holds another packed split
  bool train = true, val = true;  ///< the splits to pack
  ShardLimits limits = {};
  std::optional<std::uint64_t> shuffle;  ///< with a seed, the order is random; otherwise it is that of the data set
  bool sort = false;                     ///< sorts by label instead
  bool flac = false;                     ///< stores WAV recordings as FLAC files of the same samples
  Repacking pictures = {};               ///< format, quality and edge are set here, the rest by the sampler's settings
  std::optional<TokenPacking> tokens = {};  ///< packs token ids instead of tar shards
};

/// Writes `out`/train and `out`/val: the shards, classes.txt with the names of the classes if there are any, and
/// bad_samples.jsonl with the samples that were left out if there were any; with `tokens` see pack_tokens(). Each of
/// these folders appears only when it is complete on the disk. Prints a line for each on standard output. Returns the
/// exit code: 0, or that of an interruption, which leaves nothing of the folder under way. Throws UserError: usage for
/// `out` and for data sets that have boxes in place of labels, data for data sets that cannot be opened and as data.bad
/// and data.max_bad say, snapshot for disks.
int pack(const Config& config, PackOptions options, Interrupt& interrupt);

}  // namespace flowtrain
