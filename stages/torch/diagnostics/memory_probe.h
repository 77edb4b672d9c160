#pragma once
// How much memory work takes at its peak, a training step above all, and how much a device has left.

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

/// Counts what this thread's tensors on the CPU take, as ATen's memory profiler does, while it lives.
class LiveBytes {
 public:
  LiveBytes() : counter_(std::make_shared<Counter>()), guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}
  /// Allocated and not yet freed since the beginning.
  std::int64_t now() const { return counter_->bytes; }
  /// The most that now() ever was.
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

/// The memory of tensors on a device; on the CPU of those that this thread makes.
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

/// A learner's, whose parts it uses and which they outlive.
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
