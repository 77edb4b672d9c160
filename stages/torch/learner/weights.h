#pragma once
// The tensors of a net that trains, and their way to snapshots and back.

#include <ATen/core/Tensor.h>

#include <vector>

#include "nets/models/net.h"
#include "nets/tensors.h"
#include "stages/state.h"
#include "stages/torch/state_copy.h"

namespace flowtrain {

/// Parameters and buffers (running statistics) of a net, in its order.
class Weights {
 public:
  /// Without `keeps` buffers are not kept, and restore_buffers() does nothing.
  Weights(const nets::Net& net, at::Device where, bool keeps)
      : parameters_(net.parameters()), buffers_(net.buffers()), copier_(where), keeps_(keeps) {}

  const nets::NamedTensors& parameters() const { return parameters_; }
  const nets::NamedTensors& buffers() const { return buffers_; }

  /// The forward passes of an iteration are about to change the buffers.
  void keep_buffers();
  /// As they were when they were kept.
  void restore_buffers();
  /// Anything may be changed after this: a copy that is on its way is waited for, on the device.
  void before_change() { copier_.before_change(); }

  /// See Learner::copy_state(). `slots`: what the optimizers keep.
  void copy(const nets::NamedTensors& slots, LearnerState& state) { copier_.copy(parameters_, buffers_, slots, state); }
  /// Throws UserError(snapshot) where names or shapes differ.
  void load(const std::vector<StateTensor>& model);

 private:
  nets::NamedTensors parameters_, buffers_;
  std::vector<at::Tensor> kept_;  // buffers
  StateCopier copier_;
  bool keeps_;
};

}  // namespace flowtrain
