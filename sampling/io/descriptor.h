#pragma once
// Files opened once and read at any place from any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/io/byte_source.h"

namespace flowtrain {

/// An open file or folder, closed on destruction. All methods throw std::system_error with the system's text for what
/// went wrong; the caller adds which file it was.
class Descriptor final : public ByteSource {
 public:
  /// Opens a regular file for reading; its name may be relative to an open folder.
  static Descriptor file(const char* name, const Descriptor* folder = nullptr);
  static Descriptor folder(const char* path);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() override;

  std::uint64_t size_bytes() const override;
  /// When the file was last written: nanoseconds since 1970.
  std::int64_t modified_ns() const;
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  explicit Descriptor(int number) : number_(number) {}
  int number_;
};

/// The largest file that is read as one sample.
inline constexpr std::uint64_t max_sample_bytes = 1 << 30;

/// Replaces `into` by `size_bytes` bytes of the file; allocates only when the vector has to grow. Throws
/// std::runtime_error (std::system_error is one) for what is too large for a sample, ends early or cannot be read.
void read_exactly(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes, std::vector<std::byte>& into);

}  // namespace flowtrain
