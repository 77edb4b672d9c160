#pragma once
// The tensors of a net that trains, and their way to snapshots and back.

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "nets/net.h"
#include "nets/tensors.h"
#include "stages/model/state.h"

namespace flowtrain {

/// Copies a learner's tensors to the host. On the CPU that is a memcpy. From a device the copy goes to page-locked
/// memory on a stream of its own, while compute goes on; only what is about to be changed is waited for, and on the
/// device.
class StateCopier {
 public:
  explicit StateCopier(at::Device where);
  ~StateCopier();

  /// Buffers, parameters and the optimizer's slots into `state`; LearnerState::settle() waits until they are there.
  void copy(const nets::NamedTensors& parameters, const nets::NamedTensors& buffers, const nets::NamedTensors& slots,
            LearnerState& state);
  /// Compute is about to change buffers: what it enqueues from now on waits until the copy has left them.
  void before_buffers_change();
  /// Likewise for everything.
  void before_change();

 private:
  class TwinMemory;
  struct Side;
  at::Device where_;
  std::shared_ptr<TwinMemory> memory_;  // of the last copy from a device
  std::shared_ptr<Side> side_;          // of the last copy from a device
};

/// Puts stored tensors into the `to` of the same names. Throws UserError(snapshot) where names, shapes or types differ;
/// `what` ("model") is for its message.
void copy_in(const std::vector<StateTensor>& from, const nets::NamedTensors& to, const std::string& what);

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
  std::vector<at::Tensor> kept_;  // the buffers' values, in memory that stays; empty until they are first kept
  StateCopier copier_;
  bool keeps_;
};

}  // namespace flowtrain
