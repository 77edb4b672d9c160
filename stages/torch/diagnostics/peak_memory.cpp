#include "stages/torch/diagnostics/peak_memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "stages/torch/diagnostics/live_bytes.h"

namespace flowtrain {

namespace {

// LibTorch's allocator has a type of its own for it; what cuDNN, cuBLAS and the driver say comes as text.
bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) || dynamic_cast<const std::bad_alloc*>(&error)) return true;
  const std::string_view text = error.what();
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  return has("out of memory") || has("ALLOC_FAILED") || has("not enough memory");
}

std::uint64_t positive(std::int64_t bytes) { return static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)); }

}  // namespace

bool PeakMemory::try_out(const std::function<void()>& work) const {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    return false;
  }
}

std::optional<std::uint64_t> PeakMemory::of(const std::function<void()>& work) const {
  if (where_.is_cpu()) {
    const LiveBytes live;
    return try_out(work) ? std::optional(positive(live.most())) : std::nullopt;
  }
  constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  auto* allocator = c10::getDeviceAllocator(where_.type());
  allocator->emptyCache();
  const std::int64_t before = allocator->getDeviceStats(where_.index()).allocated_bytes[all].current;
  allocator->resetPeakStats(where_.index());
  const bool fits = try_out(work);
  const std::int64_t most = allocator->getDeviceStats(where_.index()).allocated_bytes[all].peak;
  allocator->emptyCache();
  return fits ? std::optional(positive(most - before)) : std::nullopt;
}

std::optional<std::uint64_t> PeakMemory::free_bytes(c10::Device where) {
  if (where.is_cpu()) return {};
  auto* allocator = c10::getDeviceAllocator(where.type());
  allocator->emptyCache();
  return allocator->getMemoryInfo(where.index()).first;
}

}  // namespace flowtrain
