#pragma once
// Measures the peak memory of work, above all of a training step, and the free memory of a device.

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "stages/model/compute.h"
#include "stages/model/learner_spec.h"
#include "stages/torch/batch.h"
#include "stages/torch/state_copy.h"
#include "stages/torch/step/step_readout.h"
#include "stages/torch/step/train_step.h"

namespace flowtrain {

/// Counts the memory of this thread's CPU tensors, as ATen's memory profiler does, while it lives.
class LiveBytes {
 public:
  LiveBytes() : counter_(std::make_shared<Counter>()), guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}
  /// Returns the bytes allocated and not yet freed since the beginning.
  std::int64_t now() const { return counter_->bytes; }
  /// Returns the greatest value of now() so far.
  std::int64_t most() const { return counter_->most; }

 private:
  struct Counter final : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
      bytes += size;
      most = std::max(most, bytes);
    }
    bool memoryProfilingEnabled() const override { return true; }
    std::int64_t bytes = 0, most = 0;
  };
  std::shared_ptr<Counter> counter_;
  c10::DebugInfoGuard guard_;
};

/// The memory of tensors on a device; on the CPU, of tensors that this thread makes.
class PeakMemory {
 public:
  explicit PeakMemory(c10::Device where) : where_(where) {}

  /// Returns the peak memory of `work`, beside existing memory; nothing if the device had too little. The device's
  /// allocator gives back unused memory before and after.
  std::optional<std::uint64_t> of(const std::function<void()>& work) const;

  /// Returns the free memory of a device; nothing for the CPU, which has none of its own.
  static std::optional<std::uint64_t> free_bytes(c10::Device where);

 private:
  bool try_out(const std::function<void()>& work) const;

  c10::Device where_;
};

/// The probe of a learner, whose parts it uses; they outlive it.
class TorchMemoryProbe : public MemoryProbe {
 public:
  TorchMemoryProbe(const LearnerSpec& spec, Weights& weights, TrainStep& step, StepReadout& readout)
      : spec_(spec), weights_(weights), step_(step), readout_(readout) {}

  std::optional<std::uint64_t> free_bytes() override;
  std::optional<std::uint64_t> step_bytes(Slab& slab) override;
  std::uint64_t kept_bytes(Slab& slab) override;

 private:
  void try_step(Slab& slab, BatchAdapter& batches);

  const LearnerSpec& spec_;
  Weights& weights_;
  TrainStep& step_;
  StepReadout& readout_;
};

}  // namespace flowtrain
