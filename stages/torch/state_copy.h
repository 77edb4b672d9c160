#pragma once
// The tensors of a training net, and their way to snapshots and back.

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "nets/net.h"
#include "nets/tensors.h"
#include "stages/model/state.h"

namespace flowtrain {

/// Copies a learner's tensors to the host. The CPU makes a memcpy. A device copies to page-locked memory on a stream of
/// its own, while compute goes on; compute waits, on the device, only before it changes tensors in transit.
class StateCopier {
 public:
  explicit StateCopier(at::Device where);
  ~StateCopier();

  /// Copies buffers, parameters and the optimizer's slots to `state`; LearnerState::settle() waits for them.
  void copy(const nets::NamedTensors& parameters, const nets::NamedTensors& buffers, const nets::NamedTensors& slots,
            LearnerState& state);
  /// Comes before compute changes buffers: its later work waits until the copy has left them.
  void before_buffers_change();
  /// Comes before compute changes anything, and waits for all copies.
  void before_change();

 private:
  class TwinMemory;
  struct Side;
  at::Device where_;
  std::shared_ptr<TwinMemory> memory_;  // memory of the last copy from a device
  std::shared_ptr<Side> side_;          // stream and twins of the last copy from a device
};

/// Copies stored tensors to the `to` of the same names. Throws UserError(snapshot) if names, shapes or types differ;
/// `what` ("model") is for its message.
void copy_in(const std::vector<StateTensor>& from, const nets::NamedTensors& to, const std::string& what);

/// The parameters and buffers (running statistics) of a net, in its order.
class Weights {
 public:
  /// `keeps` is false if buffers are not kept, and restore_buffers() does nothing.
  Weights(const nets::Net& net, at::Device where, bool keeps)
      : parameters_(net.parameters()), buffers_(net.buffers()), copier_(where), keeps_(keeps) {}

  const nets::NamedTensors& parameters() const { return parameters_; }
  const nets::NamedTensors& buffers() const { return buffers_; }

  /// Keeps the buffers, which the forward passes of an iteration are about to change.
  void keep_buffers();
  /// Restores the buffers that keep_buffers() kept.
  void restore_buffers();
  /// Comes before any change: the device waits for a copy that is on its way.
  void before_change() { copier_.before_change(); }

  /// Implements Learner::copy_state(). `slots` are the optimizers' tensors.
  void copy(const nets::NamedTensors& slots, LearnerState& state) { copier_.copy(parameters_, buffers_, slots, state); }
  /// Throws UserError(snapshot) if names or shapes differ.
  void load(const std::vector<StateTensor>& model);

 private:
  nets::NamedTensors parameters_, buffers_;
  std::vector<at::Tensor> kept_;  // the buffers' values, in reused memory; empty until they are first kept
  StateCopier copier_;
  bool keeps_;
};

}  // namespace flowtrain
