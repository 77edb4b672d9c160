#pragma once
// Keeps what scanning files found: the index of a large local file beside it, numbers about records in the user's
// cache.

#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// Returns the checksum of a kept file: XXH3 of its header, whose own `checksum` counts as 0, and of the contents.
template <class Header>
std::uint64_t checksum_of(Header header, std::span<const std::byte> contents) {
  header.checksum = 0;
  return XXH3_64bits_withSeed(contents.data(), contents.size(), XXH3_64bits(&header, sizeof(header)));
}

/// The facts that distinguish versions of a file.
struct FileVersion {
  std::uint64_t size_bytes;
  std::int64_t modified_ns, changed_ns;
  std::uint64_t samples_hash;

  bool operator==(const FileVersion&) const = default;
};

/// The index of one file: `<path>.index`. It counts only for the file that it was made from, and has a checksum: a
/// stale or damaged index counts as absent. The file's size, both of its times (of its content, and of any change,
/// which copying and setting the first one renew) and a hash of samples of its bytes decide that. So a copy of a file
/// with its index is indexed again. Checking costs nine reads of 4 KiB. An index that cannot be read or written is no
/// error. Several processes may use the same files.
///
/// An index holds: magic (8 bytes; it changes with the layout of the contents), size of the file (u64), its two times
/// (i64, nanoseconds since 1970), the hash of its samples (u64), size of the contents (u64), checksum of all that
/// (u64), the contents. Numbers are little-endian, hashes are XXH3.
class KeptIndex {
 public:
  /// `file` is the open file at `path`.
  KeptIndex(const std::string& path, const Descriptor& file);

  std::optional<std::vector<std::byte>> recall() const;
  /// Writes the index, unless the file has changed since this was made, was written less than two seconds ago, or
  /// changed in the same tick of the file system's clock: it could then change once more and look the same.
  void keep(std::span<const std::byte> bytes) const;

 private:
  std::string path_;
  FileVersion version_;
};

/// Numbers on the records of a data set, in a file `<folder>/<hash>.<kind>` that is named after what decides them. A
/// damaged file counts as absent. It holds: magic (8 bytes, which end with the kind's first two), the two hashes (u64),
/// checksum of all that and of the numbers (u64), the numbers. Numbers are little-endian.
class KeptValues {
 public:
  /// `fingerprint` is the data set's; `settings` is the hash of all else that decides the numbers.
  KeptValues(const std::filesystem::path& folder, const char* kind, std::uint64_t fingerprint, std::uint64_t settings);

  /// Fills `into` and returns true if the file holds numbers of exactly this size.
  bool recall(std::span<std::byte> into) const;
  /// Writes the file and makes its folder; returns false if that fails.
  bool keep(std::span<const std::byte> bytes) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Header {
    std::array<char, 8> magic;
    std::uint64_t fingerprint, settings, checksum;
  };
  Header header_;
  std::filesystem::path path_;
};

}  // namespace flowtrain
