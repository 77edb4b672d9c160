#pragma once
// How much memory a training step takes.

#include <cstdint>
#include <optional>

#include "stages/compute.h"
#include "stages/learner_spec.h"
#include "stages/torch/batch.h"
#include "stages/torch/learner/step_readout.h"
#include "stages/torch/learner/train_step.h"
#include "stages/torch/learner/weights.h"

namespace flowtrain {

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
