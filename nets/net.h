#pragma once
// The interface of nets. User mistakes are std::invalid_argument with a message that is complete by itself.

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

/// A model that maps named inputs to named outputs. One thread at a time.
class Net {
 public:
  virtual ~Net() = default;

  /// Computes the outputs from `image` (B, C, H, W) f32. Classifiers give `logits` (B, classes) f32;
  /// nets/cornernet/cornernet.h lists the outputs of the CornerNet family.
  virtual NamedTensors forward(const NamedTensors& batch) = 0;
  /// Gives these outputs, and perhaps others: for a detector, which needs fewer than a loss does. `names` are those of
  /// forward(), unless the net has others for this purpose.
  virtual NamedTensors outputs(const NamedTensors& batch, [[maybe_unused]] const std::vector<std::string>& names) {
    return forward(batch);
  }
  /// Returns whether forward() or outputs() may give this output. A script may give any: only a run shows them.
  virtual bool may_give(const std::string& output) const = 0;
  /// Returns the learnable tensors; names and order are those of the reference Python implementation's state_dict.
  virtual NamedTensors parameters() const = 0;
  /// Returns running statistics and the like, with names of the same kind.
  virtual NamedTensors buffers() const = 0;
  /// Sets train mode (dropout, batch statistics) or eval mode.
  virtual void train(bool on) = 0;
  /// Ends the training of these parameters: they take no gradients, and layers whose parameters are all among them stay
  /// in eval mode, so that their statistics do not move either. It may be called once.
  virtual void freeze(const std::set<std::string>& parameters) = 0;
  /// Moves all tensors, which stay the same objects; channels_last lays 4-D weights out for NHWC kernels.
  virtual void to(at::Device device, bool channels_last) = 0;
  /// Makes batch normalisation take its statistics over the rows of all processes. Throws std::invalid_argument if the
  /// net is not made of our modules (a script).
  virtual void span_batch_norm(const SumOverProcesses& sum) = 0;
};

}  // namespace flowtrain::nets
