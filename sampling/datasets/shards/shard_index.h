#pragma once
// The tar shards of a WebDataset: their names, their samples, and the places of their bytes.

#include <cstdint>
#include <memory>
#include <span>
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
  std::vector<std::string> paths = {};  ///< paths in order; not empty
  bool has_split = false;               ///< training and validation have shards of their own
  std::string place = {};               ///< the folder, the shard or the pattern, for messages
  std::vector<std::string> notes = {};  ///< sentences on other shards and folders there that are not used
};

/// Returns every name of a pattern with ranges "{000..127}", whose numbers are padded to the width of the first; a name
/// without ranges is its own. Throws the error of `key` for a pattern that cannot be read.
std::vector<std::string> expand_names(const std::string& pattern, const std::string& key, const Settings& settings);

/// Returns the files that the keys `path` and `split` name on a server, whose folders cannot be listed: one by one or
/// by a pattern, such as the `example` that errors tell.
std::vector<std::string> find_remote_names(const Settings& settings, const std::string& example);

/// Finds the tar shards that the keys `path` and `split` name; local ones exist. `path` is one shard, a pattern
/// "a-{000..127}.tar", or a folder, in which `split` names a sub-folder, a shard or a pattern. Without `split` the
/// usual names of splits decide (see find_splits, and the key `split_names`): those of sub-folders with shards, or else
/// those of the shards ("x-train-000.tar", "x-val-000.tar"). In a remote `path` (see is_remote) shards are named one by
/// one or by a pattern, and their existence is not checked. Throws UserError: usage for a pattern that cannot be read,
/// data for missing shards, and for names that may or may not be splits.
ShardList find_shards(const Settings& settings, bool training);

/// A sample of a shard, with the place of its image.
struct ShardSample {
  std::uint64_t offset, size_bytes;  ///< offset 0: it has no image
  std::int32_t label;                ///< -1: none

  bool has_picture() const { return offset > 0; }
};

/// A file of a sample beside its image and its label.
struct ShardMember {
  std::uint64_t offset, size_bytes;
  std::uint32_t kind;  ///< index among Shard::kinds
};

/// The largest number of kinds of members; files of more kinds are left out.
inline constexpr std::size_t max_member_kinds = 255;

struct Shard {
  std::string path;  ///< path for messages: a file's path, or a URL without user, password and query
  std::unique_ptr<ByteSource> file;
  const RemoteFile* remote = nullptr;  ///< `file` if it is remote, else null
  Names names = {};                    ///< names of the images; of samples without one, of their first file
  std::vector<ShardSample> samples = {};
  std::vector<std::string> kinds = {};          ///< the names of members after their first dot, in lower case: "txt"
  std::vector<ShardMember> members = {};        ///< the samples' members, one sample after the other
  std::vector<std::uint64_t> member_ends = {};  ///< end of each sample's members; empty: there are none at all

  /// Returns the members of a sample.
  std::span<const ShardMember> members_of(std::size_t sample) const;
};

struct Shards {
  std::vector<Shard> all;
  std::shared_ptr<const RemoteAccess> access;  ///< access to remote shards, else null
};

/// Opens and scans all shards, several at once; labels must be below `labels_end`. A sample has at most one label
/// (NAME.cls), and an image, the first of several with other extensions; its other files are members, the first of each
/// kind; all kinds of recordings are one, "audio". Samples without an image count if no shard has any, and if they have
/// a member that is no image of a format that cannot be decoded. Paths may be remote, with the keys of remote_keys() in
/// `settings`. The index of a shard is kept, so that it is scanned once: for a local one beside it (kept_index.h), for
/// a remote one in the cache. Throws UserError(data) for the first shard that cannot be read or is damaged, or has a
/// key twice or a label without image.
Shards index_shards(const std::vector<std::string>& paths, std::int64_t labels_end, const Settings& settings);

}  // namespace flowtrain
