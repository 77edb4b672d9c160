#pragma once
// Keeps pieces of bytes in a folder, up to a size; the least recently used ones make room.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// Pieces are found by a key of any length. Several processes may share a folder: files appear by a rename, whole or
/// not at all, and carry checksums; a damaged one is removed and counts as absent. Methods may be called from any
/// thread. A piece that cannot be stored (a full disk) is no error: it is fetched again.
///
/// A file has: magic (8 bytes), size (u64), checksum of the size and the table (u64), table (u64 for each 64 KiB of the
/// piece), the piece; numbers are little-endian, checksums XXH3 with the key's hash as seed.
class DiskCache {
 public:
  /// Makes the folder if necessary. Throws std::filesystem::filesystem_error if it cannot be written.
  DiskCache(std::filesystem::path folder, std::uint64_t limit_bytes);

  bool has(const std::string& key) const;
  /// Fills `into` from byte `offset` of a piece on; returns false if the piece is missing or shorter. Checks and reads
  /// only the requested part.
  bool read(const std::string& key, std::uint64_t offset, std::span<std::byte> into) const;
  std::optional<std::vector<std::byte>> read_all(const std::string& key) const;
  void write(const std::string& key, std::span<const std::byte> bytes) const;

 private:
  struct Name {
    std::filesystem::path path;
    std::uint64_t seed;
  };
  class Piece;
  Name name_of(const std::string& key) const;
  template <class Use>
  bool with_piece(const std::string& key, const Use& use) const;
  bool make_room(std::uint64_t size_bytes) const;

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_;
  mutable Mutex mutex_;
  /// The number of bytes that may be written before the folder must be listed again.
  mutable std::uint64_t room_bytes_ FT_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowtrain
