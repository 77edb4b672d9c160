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

/// What make_net needs: the keys of [net], and what the data says of itself.
struct NetSpec {
  std::string name;    ///< one of net_names(): mlp, lenet, resnet18 …, cornernet …
  std::string script;  ///< a TorchScript file instead of a name; the other keys then do not matter
  /// script: fields of the batch for its arguments, in their order, or "ARGUMENT = FIELD".
  std::vector<std::string> inputs = {};
  std::int64_t classes = 0;                       ///< outputs of a classifier, kinds of objects of a detector
  std::int64_t channels = 3;                      ///< of the input pictures
  std::int64_t height = 0, width = 0;             ///< of the input pictures, pixels
  std::vector<std::int64_t> hidden = {256, 128};  ///< mlp: widths of the hidden layers
  /// cornernet…: other than published, where not 0 or empty: how many hourglasses, the stem's widths (each halves the
  /// picture's sides), and the hourglass's widths and blocks, level by level.
  std::int64_t stacks = 0;
  std::vector<std::int64_t> stem = {}, widths = {}, blocks = {};
  double dropout = 0;  ///< mlp, lenet: share of activations dropped while training, 0 ≤ p < 1
};

/// Replaces a tensor's values by their sums over the processes that train together; all call it in the same order.
using SumOverProcesses = std::function<void(at::Tensor&)>;

/// A model: named inputs to named outputs. One thread at a time.
class Net {
 public:
  virtual ~Net() = default;

  /// Reads `image` (B, C, H, W) f32. Classifiers give `logits` (B, classes) f32; what the CornerNet family gives says
  /// nets/cornernet/cornernet.h.
  virtual NamedTensors forward(const NamedTensors& batch) = 0;
  /// Whether forward may give an output of this name. A script tells only by running: it may give any.
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

/// Builds a net; its initial weights are drawn from torch's default generator (seed it first).
/// Throws std::invalid_argument for an unknown name (listing the known), a value out of range, an input of a size
/// that does not work, an unreadable script, and where both a name and a script are given.
/// A script's arguments take the batch's tensors that `inputs` names, else those of their own names, the first one
/// `image` otherwise. Its result is `logits` if a tensor, `0`, `1` … if a tuple, and keeps its names if a dict.
std::unique_ptr<Net> make_net(const NetSpec& spec);

/// Known names, sorted.
std::vector<std::string> net_names();

/// How large a net is: its learnable tensors; buffers are not counted.
struct NetSummary {
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;  ///< elements of all of them
  std::int64_t bytes = 0;
};
NetSummary summary(const Net& net);

}  // namespace flowtrain::nets
