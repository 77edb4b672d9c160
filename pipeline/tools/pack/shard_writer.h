#pragma once
// Writes samples as tar shards that follow the WebDataset convention.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/atomic_folder.h"

namespace flowtrain {

/// The size at which a shard ends; 0: no such limit. A sample larger than `bytes` has a shard of its own.
struct ShardLimits {
  std::uint64_t bytes = 0, samples = 0;
};

/// A file of a sample.
struct SampleFile {
  std::string ending;  ///< "jpg", "txt"
  std::vector<std::byte> bytes;
};

/// Writes the shards `<prefix>-000000.tar`, … to a folder. Equal samples give equal bytes. Used by one thread.
class ShardWriter {
 public:
  /// `folder` must outlive it.
  ShardWriter(AtomicFolder& folder, std::string prefix, ShardLimits limits)
      : folder_(folder), prefix_(std::move(prefix)), limits_(limits) {}

  /// Adds `<id>.cls`, unless the label is -1, and each of `files` as `<id>.<ending>`; the id has nine digits, or more.
  /// Throws system_error(), and UserError(usage) beyond a million shards.
  void add(std::uint64_t id, std::int64_t label, std::span<const SampleFile> files);
  /// Ends the last shard. Called once.
  void finish();

  std::uint64_t shards() const { return shards_; }
  std::uint64_t samples() const { return samples_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void begin_shard();
  void end_shard();

  AtomicFolder& folder_;
  std::string prefix_;
  ShardLimits limits_;
  std::optional<File> shard_;
  std::string entries_;  ///< the entries of the sample that is being added
  std::uint64_t shard_bytes_ = 0, shard_samples_ = 0;
  std::uint64_t shards_ = 0, samples_ = 0, bytes_ = 0;
};

}  // namespace flowtrain
