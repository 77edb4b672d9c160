#pragma once
// train.cuda_graph: a training step that the device records, and repeats with other batches.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nets/tensors.h"
#include "stages/device/device.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Holds two graphs, since values are read in between: forward and backward, and the update. If that is impossible or
/// does not pay, a warning says why, and all further steps are made without it.
class StepGraphs {
 public:
  /// The results of forward and backward, in the same memory at each repetition.
  struct Outputs {
    std::vector<at::Tensor> sums;       ///< Pass::sums of all passes
    at::Tensor norm, overflow;          ///< see Optimizers::clip() and unscale()
    std::vector<at::Tensor> gradients;  ///< kept alive only: the graphs write to their memory
  };
  /// The learner's functions for a step.
  struct Step {
    std::function<Outputs(const nets::NamedTensors& batch)> gradients;
    std::function<void()> update;
  };

  /// `spec` outlives it.
  explicit StepGraphs(const LearnerSpec& spec);

  /// Sets the hyper-parameters from now on. The device reads the learning rate alone: other changes need a new capture.
  void set_hyper(std::span<const HyperParameters> hyper);
  /// Returns whether the step may be repeated if its batch fits; called once before each step.
  bool wanted();
  /// Captures the step, with a copy of the batch, unless that was done. Returns whether the batch has the names, shapes
  /// and types of the captured one; if false, the step is made without graphs.
  bool takes(const nets::NamedTensors& batch, const Step& step);
  /// Returns the memory that repeat_gradients() writes to, after takes().
  const Outputs& outputs() const { return outputs_; }
  void repeat_gradients(const nets::NamedTensors& batch);
  void repeat_update() { update_->replay(); }
  /// Ends all repetition from now on.
  void leave();
  /// Ends all repetition with a warning that says why.
  void leave_because(const std::string& reason);

 private:
  // Returns why a step cannot be captured; empty if it may be tried.
  std::string obstacle() const;
  bool captured() const { return update_ != nullptr; }
  // Throws the errors of WorkGraph::capture(); then there is no capture.
  void capture(const nets::NamedTensors& batch, const Step& step);
  void forget() { gradients_.reset(), update_.reset(); }

  const LearnerSpec& spec_;
  bool on_;
  MakeWorkGraph make_;
  int steps_ = 0, captures_ = 0;
  std::vector<HyperParameters> hyper_;
  nets::NamedTensors batch_;
  std::unique_ptr<WorkGraph> gradients_, update_;
  Outputs outputs_;
};

}  // namespace flowtrain
