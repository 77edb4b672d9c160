#pragma once
// Bytes that are read at any place: a file on a disk (descriptor.h) or on a server (sampling/remote/remote.h).

#include <cstddef>
#include <cstdint>
#include <span>

namespace flowtrain {

/// A file of known size. Methods may be called from any thread; they throw a std::runtime_error that says what went
/// wrong, and the caller adds which file it was.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual std::uint64_t size_bytes() const = 0;
  /// Fills `into` from byte `offset` on; returns how many bytes there were, fewer only at the file's end.
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

}  // namespace flowtrain
