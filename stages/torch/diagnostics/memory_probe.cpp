#include "stages/torch/diagnostics/memory_probe.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "stages/torch/batch.h"
#include "stages/torch/step/autocast.h"

namespace flowtrain {

namespace {

// LibTorch's allocator has a type of its own for it; errors of cuDNN, cuBLAS and the driver come as text.
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

std::optional<std::uint64_t> TorchMemoryProbe::free_bytes() {
  return PeakMemory::free_bytes(at::Device(spec_.process.device));
}

std::optional<std::uint64_t> TorchMemoryProbe::step_bytes(Slab& slab) {
  step_.optimizers().forget_gradients();
  return PeakMemory(at::Device(spec_.process.device)).of([&] {
    const auto batches = make_train_batches(spec_, slab.layout());
    try_step(slab, *batches);
  });
}

// The second micro-batch finds the gradients of the first in memory.
void TorchMemoryProbe::try_step(Slab& slab, BatchAdapter& batches) {
  readout_.forget(step_);
  weights_.keep_buffers();
  step_.begin(0, weights_.parameters());  // every optimizer is at work in iteration 0
  for (std::int64_t micro = 0; micro < std::min<std::int64_t>(*spec_.tables.train.accum, 2); ++micro)
    step_.add_gradients(slab, batches, {});
  step_.finish_gradients();
  readout_.read(step_);
  step_.apply();
  step_.optimizers().average(0);
}

std::uint64_t TorchMemoryProbe::kept_bytes(Slab& slab) {
  const auto batches = make_train_batches(spec_, slab.layout());
  const auto batch = (*batches)(slab);
  std::int64_t most = 0;
  for (auto& pass : step_.passes()) {
    const LiveBytes live;
    const Autocast cast(amp_type(*spec_.tables.train.amp),
                        at::Device(spec_.process.device).type());  // the cast copies count, too
    const auto losses = step_.step()(batch, pass.losses);
    most = std::max(most, live.now());
  }
  return static_cast<std::uint64_t>(most);
}

}  // namespace flowtrain
