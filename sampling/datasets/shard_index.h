#pragma once
// Which samples the tar shards of a WebDataset hold, and where their bytes lie.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sampling/core/names.h"
#include "sampling/io/byte_source.h"

namespace flowtrain {

class Settings;

/// A sample of a shard: where its picture lies.
struct ShardSample {
  std::uint64_t offset, size_bytes;
  std::int32_t label;  ///< -1: none
};

class RemoteFile;
struct RemoteAccess;

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
