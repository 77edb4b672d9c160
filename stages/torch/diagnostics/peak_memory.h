#pragma once
// How much memory work takes at its peak, and how much a device has left.

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace flowtrain {

/// Of tensors on a device; on the CPU of those that this thread makes.
class PeakMemory {
 public:
  explicit PeakMemory(c10::Device where) : where_(where) {}

  /// What `work` took at its peak, beside what was there; nothing where the device had too little. Memory that a
  /// device's allocator keeps for later is given back before and after.
  std::optional<std::uint64_t> of(const std::function<void()>& work) const;

  /// What a device has left; nothing of the CPU, which has none of its own.
  static std::optional<std::uint64_t> free_bytes(c10::Device where);

 private:
  bool try_out(const std::function<void()>& work) const;

  c10::Device where_;
};

}  // namespace flowtrain
