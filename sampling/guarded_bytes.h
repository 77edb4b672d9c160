#pragma once
// Memory between guard bytes, which shows whether code writes out of bounds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace flowtrain {

/// A buffer of `size` bytes with `guard_bytes` more before and after them. The guards have a pattern that is unlikely
/// to be written by chance.
class GuardedBytes {
 public:
  static constexpr std::size_t guard_bytes = 4096;

  explicit GuardedBytes(std::size_t size) : size_(size), memory_(size + 2 * guard_bytes) { restore_guards(); }
  /// Copies `content`.
  explicit GuardedBytes(std::span<const std::byte> content) : GuardedBytes(content.size()) {
    std::ranges::copy(content, data());
  }

  std::byte* data() { return memory_.data() + guard_bytes; }
  std::span<const std::byte> bytes() const { return {memory_.data() + guard_bytes, size_}; }
  void fill(std::byte value) { std::fill_n(data(), size_, value); }

  /// Returns a guard byte that was overwritten, counted from data(): below 0 before the bytes, from size() on after
  /// them. Returns nothing if both guards are intact.
  std::optional<std::ptrdiff_t> overwritten() const {
    for (std::size_t i = guard_bytes; i-- > 0;)  // the search goes outwards
      if (memory_[i] != guard(i)) return static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(guard_bytes);
    for (std::size_t i = guard_bytes + size_; i < memory_.size(); ++i)
      if (memory_[i] != guard(i)) return static_cast<std::ptrdiff_t>(i - guard_bytes);
    return std::nullopt;
  }
  void restore_guards() {
    for (std::size_t i = 0; i < guard_bytes; ++i) memory_[i] = guard(i);
    for (std::size_t i = guard_bytes + size_; i < memory_.size(); ++i) memory_[i] = guard(i);
  }

 private:
  static std::byte guard(std::size_t i) { return static_cast<std::byte>(0xa5 ^ (i * 31)); }

  std::size_t size_;
  std::vector<std::byte> memory_;
};

}  // namespace flowtrain
