#pragma once
// Nets: the door to models. User mistakes are std::invalid_argument with a message that stands by itself.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Replaces a tensor's values by their sums over the processes that train together; all call it in the same order.
using SumOverProcesses = std::function<void(at::Tensor&)>;

/// A model: named inputs to named outputs. One thread at a time.
class Net {
 public:
  virtual ~Net() = default;

  /// Reads `image` (B, C, H, W) f32. Classifiers give `logits` (B, classes) f32; what the CornerNet family gives says
  /// nets/cornernet/cornernet.h.
  virtual NamedTensors forward(const NamedTensors& batch) = 0;
  /// Gives these outputs, and perhaps others: for a detector, which needs fewer than a loss does. `names` are those of
  /// forward(), unless the net has others for this purpose.
  virtual NamedTensors outputs(const NamedTensors& batch, [[maybe_unused]] const std::vector<std::string>& names) {
    return forward(batch);
  }
  /// Says whether forward() or outputs() may give this output. A script tells only by running: it may give any.
  virtual bool may_give(const std::string& output) const = 0;
  /// Learnable tensors, names and order as the reference Python implementation's state_dict.
  virtual NamedTensors parameters() const = 0;
  /// Running statistics and the like; same naming.
  virtual NamedTensors buffers() const = 0;
  /// Train mode (dropout, batch statistics) or eval mode.
  virtual void train(bool on) = 0;
  /// These parameters take no gradients from now on, and layers all of whose parameters are among them stay in eval
  /// mode, so that their statistics do not move either. Once.
  virtual void freeze(const std::set<std::string>& parameters) = 0;
  /// Moves all tensors, which stay the same objects; channels_last lays 4-D weights out for NHWC kernels.
  virtual void to(at::Device device, bool channels_last) = 0;
  /// From now on batch normalisation takes its statistics over the rows of all processes. Throws std::invalid_argument
  /// where the net is not made of modules of ours (a script).
  virtual void span_batch_norm(const SumOverProcesses& sum) = 0;
};

}  // namespace flowtrain::nets
