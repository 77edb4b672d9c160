#pragma once
// train.cuda_graph: a training step that the device keeps, and repeats with other batches.

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

/// Two graphs, as there is a look at the values in between: forward and backward, and the update. Where that cannot
/// be, or does not pay, a warning says why, and all further steps are to be made as without it.
class StepGraphs {
 public:
  /// What forward and backward leave, in the same memory each time that they are repeated.
  struct Outputs {
    std::vector<at::Tensor> sums;       ///< Pass::sums, of all passes
    at::Tensor norm, overflow;          ///< see Optimizers::clip() and unscale()
    std::vector<at::Tensor> gradients;  ///< kept only: the graphs write to their memory
  };
  /// A step, as who learns makes it.
  struct Step {
    std::function<Outputs(const nets::NamedTensors& batch)> gradients;
    std::function<void()> update;
  };

  /// `spec` outlives it.
  explicit StepGraphs(const LearnerSpec& spec);

  /// From now on. The learning rate alone is read from the device: where others change, the step is captured anew.
  void set_hyper(std::span<const HyperParameters> hyper);
  /// To be asked once before each step: whether it may be repeated, if its batch fits. False: it is to be made as ever.
  bool wanted();
  /// Captures the step where that has yet to be done, with a copy of the batch. Then whether the batch has the names,
  /// shapes and types of the one that was captured; false: the step is to be made as ever.
  bool takes(const nets::NamedTensors& batch, const Step& step);
  /// After takes(): what repeat_gradients() writes to.
  const Outputs& outputs() const { return outputs_; }
  void repeat_gradients(const nets::NamedTensors& batch);
  void repeat_update() { update_->replay(); }
  /// From now on no step is repeated.
  void leave();
  /// Likewise, with a warning that says why.
  void leave_because(const std::string& reason);

 private:
  // Why a step cannot be captured; empty: it may be tried.
  std::string obstacle() const;
  bool captured() const { return update_ != nullptr; }
  // Throws what WorkGraph::capture() throws; then nothing is captured.
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
