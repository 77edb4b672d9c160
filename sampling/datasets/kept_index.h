#pragma once
// The index of a large local file, kept in a small file beside it, so that the next start need not scan it again.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampling/io/descriptor.h"

namespace flowtrain {

/// The index of one file: `<path>.index`. It counts only for a file of the size and the time that the file had when the
/// index was made, and carries a checksum: one that is stale or damaged counts as absent. That it cannot be read or
/// written is no error. Several processes may use the same files.
///
/// An index: magic (8 bytes; it changes with the layout of what is kept), size of the file (u64), its time (i64,
/// nanoseconds since 1970), size of what is kept (u64), checksum of all that (u64), what is kept. Numbers are
/// little-endian, the checksum is XXH3.
class KeptIndex {
 public:
  /// `file` is the open file at `path`.
  KeptIndex(const std::string& path, const Descriptor& file);

  std::optional<std::vector<std::byte>> recall() const;
  /// Keeps nothing if the file has changed since this was made, or was written less than two seconds ago: it could
  /// then change once more and look the same.
  void keep(std::span<const std::byte> bytes) const;

 private:
  std::string path_;
  std::uint64_t size_bytes_;
  std::int64_t modified_ns_;
};

}  // namespace flowtrain
