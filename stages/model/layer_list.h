#pragma once
// The layers of a net, for people. No torch here; the LibTorch learner lists them.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// A list of the layers that have parameters.
struct LayerList {
  struct Layer {
    std::string name;                      ///< that of its parameters without the last part: "layer3.0.conv1"
    std::string kind = {};                 ///< its operation: "conv2d"; empty: no forward pass came by
    std::vector<std::int64_t> shape = {};  ///< of what it gives for a batch; empty: not known, or a scalar
    std::uint64_t elements = 0, bytes = 0, frozen = 0;  ///< of its parameters; `frozen`: elements, too
  };
  std::vector<Layer> layers = {};  ///< in the order of the net's parameters
  std::string note = {};           ///< why there are no kinds and shapes; empty where there are
};

/// An interface of learners that can list the layers of their net.
class LayerLister {
 public:
  virtual ~LayerLister() = default;
  /// Call it before training, in one thread. It looks at forward passes over zeros, one and two rows of them as a rule,
  /// in eval mode: neither buffers nor random draws are other ones afterwards.
  virtual LayerList list_layers() = 0;
};

}  // namespace flowtrain
