#pragma once
// Small reads from front to back, as of an archive's headers, made of few large ones.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/io/byte_source.h"

namespace flowtrain {

/// Answers reads from a window of 1 MiB, which moves on as they do and grows to 4 MiB where they stay close together;
/// what lies between two reads that are further apart is not fetched. For one thread.
class ScanWindow final : public ByteSource {
 public:
  /// `source` must outlive this.
  explicit ScanWindow(const ByteSource& source) : source_(source) {}

  std::uint64_t size_bytes() const override { return source_.size_bytes(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  const ByteSource& source_;
  mutable std::vector<std::byte> window_;
  mutable std::uint64_t window_at_ = 0, next_bytes_ = 0;
};

}  // namespace flowtrain
