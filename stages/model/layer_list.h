#pragma once
// The layers of a net, for people. This file needs no torch; the LibTorch learner lists them.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// A list of the layers that have parameters.
struct LayerList {
  struct Layer {
    std::string name;                      ///< name of its parameters without the last part: "layer3.0.conv1"
    std::string kind = {};                 ///< operation: "conv2d"; empty: no forward pass used it
    std::vector<std::int64_t> shape = {};  ///< shape of its output for a batch; empty: not known, or a scalar
    std::uint64_t elements = 0, bytes = 0, frozen = 0;  ///< sizes of its parameters; `frozen` counts elements, too
  };
  std::vector<Layer> layers = {};  ///< ordered as the net's parameters
  std::string note = {};           ///< reason why kinds and shapes are missing; empty if they are there
};

/// An interface of learners that can list the layers of their net.
class LayerLister {
 public:
  virtual ~LayerLister() = default;
  /// Lists the layers before training, in one thread. It runs forward passes over zeros, usually one and two rows of
  /// them, in eval mode: buffers and random draws are unchanged afterwards.
  virtual LayerList list_layers() = 0;
};

}  // namespace flowtrain
