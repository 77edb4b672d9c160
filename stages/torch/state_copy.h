#pragma once
// Tensors on their way to and from snapshots.

#include <torch/types.h>

#include <memory>
#include <string>

#include "nets/tensors.h"
#include "stages/state.h"

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

}  // namespace flowtrain
