#pragma once
// Computes gradients: forward and backward of an iteration's micro-batches, and the handling of their sum.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nets/net.h"
#include "nets/package/compiled_net.h"
#include "nets/steps/step.h"
#include "stages/model/learner_spec.h"
#include "stages/torch/batch.h"
#include "stages/torch/step/optimizers.h"
#include "stages/torch/step/passes.h"
#include "stages/torch/step/step_exchange.h"
#include "stages/torch/step/step_graphs.h"
#include "stages/torch/step/step_observers.h"

namespace flowtrain {

/// One iteration: begin(), add_gradients() for each micro-batch, finish_gradients(), apply() or not.
class TrainStep {
 public:
  /// Freezes parameters that no optimizer learns. `spec` and `net` outlive it. Throws UserError(usage).
  TrainStep(const LearnerSpec& spec, nets::Net& net);

  /// Clears the gradients. `parameters` are all of the net's, which give a profile its layers.
  void begin(std::uint64_t iteration, const nets::NamedTensors& parameters);
  /// Seeds the net's draws (dropout) by step and rank_of_draws(), so that snapshots need no state of them.
  void seed_draws(const Ticket& ticket) const;
  /// Computes forward and backward of a micro-batch. The slab may then be reused (after Device::consumed on a device
  /// that copies).
  void add_gradients(Slab& slab, BatchAdapter& batches, const StepFlags& flags);
  /// Implements Learner::contribute_zeros().
  bool contribute_zeros(Slab& slab, const StepFlags& flags);
  /// Takes half precision's scale and the number of what counts off the gradients, shows them to hooks, and clips them;
  /// called once. Without train.clip it only measures.
  void finish_gradients();
  /// Changes the parameters by the gradients.
  void apply() { optimizers_->apply(passes_, iteration_, overflow_); }

  /// Computes an iteration of one micro-batch, up to finish_gradients(), for capture.
  StepGraphs::Outputs gradients_of(const Slab& slab, const nets::NamedTensors& batch);
  /// Takes an iteration that graphs repeat, with these outputs.
  void take(std::uint64_t iteration, const StepGraphs::Outputs& outputs);

  /// Returns the losses of a pass, and its scalars.
  nets::NamedTensors forward(const Pass& pass, const nets::NamedTensors& batch) const;

  /// Implements Learner::step_flops().
  double flops() const;

  std::uint64_t iteration() const { return iteration_; }
  /// Values of the gradients before clipping: f32 scalars on the device; undefined at first, or without half precision.
  const at::Tensor& norm() const { return norm_; }
  const at::Tensor& overflow() const { return overflow_; }
  const std::vector<Pass>& passes() const { return passes_; }
  nets::Step& step() { return *step_; }
  Optimizers& optimizers() { return *optimizers_; }
  const Optimizers& optimizers() const { return *optimizers_; }
  const StepExchange& exchange() const { return *exchange_; }
  StepObservers& observers() { return observers_; }

 private:
  void run(std::size_t pass, const nets::NamedTensors& batch, std::size_t rows);
  nets::NamedTensors counted_forward(std::size_t pass, const nets::NamedTensors& batch);
  void forget();

  const LearnerSpec& spec_;
  const std::optional<at::ScalarType> amp_;
  nets::CompiledNet* takes_scale_;  // the net, if it computes gradients in fp16 itself; otherwise null
  std::unique_ptr<nets::Step> step_;
  const double slots_of_row_;
  std::optional<Optimizers> optimizers_;
  std::vector<Pass> passes_;
  std::vector<double> forward_flops_;     // operations per pass, for a micro-batch; negative: not counted yet
  std::vector<std::int64_t> counted_;     // elements of the batches that they were counted for
  std::optional<StepExchange> exchange_;  // exchanges the gradients of the passes
  StepObservers observers_;
  // State of the current iteration:
  std::uint64_t iteration_ = 0;
  at::Tensor norm_, overflow_;
  bool missing_ = false;  // an error kept this process, which trains alone, from computing gradients
};

}  // namespace flowtrain
