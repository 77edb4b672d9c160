#pragma once
// Keeps the index of a large local file in a small file beside it, so that the next start need not scan it again.

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
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

}  // namespace flowtrain
