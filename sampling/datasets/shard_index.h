#pragma once
// The tar shards of a WebDataset: which files they are, which samples they hold, and where their bytes lie.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sampling/core/names.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {

class RemoteFile;
struct RemoteAccess;
class Settings;

/// Shards that belong to one split.
struct ShardList {
  std::vector<std::string> paths = {};  ///< in order; not empty
  bool has_split = false;               ///< training and validation have shards of their own
  std::string place = {};               ///< the folder, the shard or the pattern, for messages
  std::vector<std::string> notes = {};  ///< sentences on shards and folders that lie there, too, and are not used
};

/// The tar shards that the keys `path` and `split` name; local ones exist. `path` is one shard, a pattern
/// "a-{000..127}.tar", or a folder; of a folder, `split` names a sub-folder, a shard or a pattern in it. Without
/// `split` the usual names of splits decide (see find_splits, and the key `split_names`): those of sub-folders with
/// shards, or else those of the shards ("x-train-000.tar", "x-val-000.tar"). Of a remote `path` (see is_remote) shards
/// are named one by one or by a pattern, and whether they exist is not looked at. Throws UserError: usage for a pattern
/// that cannot be read, data for what is not there, and for names of which it cannot be told whether they are splits.
ShardList find_shards(const Settings& settings, bool training);

/// A sample of a shard: where its picture lies.
struct ShardSample {
  std::uint64_t offset, size_bytes;
  std::int32_t label;  ///< -1: none
};

struct Shard {
  std::string path;  ///< for messages: a file's path, or a URL without user, password and query
  std::unique_ptr<ByteSource> file;
  const RemoteFile* remote = nullptr;  ///< `file` where it is one, else null
  Names names = {};                    ///< of the pictures
  std::vector<ShardSample> samples = {};
};

struct Shards {
  std::vector<Shard> all;
  std::shared_ptr<const RemoteAccess> access;  ///< to those that are remote, else null
};

/// Opens and scans all shards, several at once; labels must be below `labels_end`. A sample has one label (NAME.cls) or
/// none, and a picture; of several of other endings the first counts. Paths may be remote, with the keys
/// of remote_keys() in `settings`. What was found in a shard is kept, so that it is scanned once: of a local one beside
/// it (kept_index.h), of a remote one in the cache.
/// Throws UserError(data) for the first shard that cannot be read or is damaged, or in which a key stands twice or a
/// label alone.
Shards index_shards(const std::vector<std::string>& paths, std::int64_t labels_end, const Settings& settings);

}  // namespace flowtrain
