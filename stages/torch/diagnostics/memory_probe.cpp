#include "stages/torch/diagnostics/memory_probe.h"

#include <algorithm>

#include "stages/torch/diagnostics/live_bytes.h"
#include "stages/torch/diagnostics/peak_memory.h"
#include "stages/torch/learner/autocast.h"
#include "stages/torch/learner/train_batches.h"

namespace flowtrain {

std::optional<std::uint64_t> TorchMemoryProbe::free_bytes() { return PeakMemory::free_bytes(at::Device(spec_.device)); }

std::optional<std::uint64_t> TorchMemoryProbe::step_bytes(Slab& slab) {
  step_.optimizers().forget_gradients();
  return PeakMemory(at::Device(spec_.device)).of([&] {
    const auto batches = make_train_batches(spec_, slab.layout());
    try_step(slab, *batches);
  });
}

// A second micro-batch finds the gradients of the first in its way.
void TorchMemoryProbe::try_step(Slab& slab, BatchAdapter& batches) {
  readout_.forget(step_);
  weights_.keep_buffers();
  step_.begin(0, weights_.parameters());  // in which all optimizers are at work
  for (std::int64_t micro = 0; micro < std::min<std::int64_t>(spec_.train.integer("accum"), 2); ++micro)
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
    const Autocast cast(amp_type(spec_.train), at::Device(spec_.device).type());  // what it keeps counts, too
    const auto losses = step_.step()(batch, pass.losses);
    most = std::max(most, live.now());
  }
  return static_cast<std::uint64_t>(most);
}

}  // namespace flowtrain
