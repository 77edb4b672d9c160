#pragma once
// The layers that a forward pass comes by, whatever the net is made of, and what each of them gives.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The first call of a layer.
struct LayerCall {
  std::string layer;      ///< see layer_of() in op_watch.h
  std::string operation;  ///< "conv2d", "batch_norm"
  std::vector<std::int64_t> shape;
};

/// Watches all operations that this thread runs while it lives. One at a time.
class LayerWatch {
 public:
  /// `parameters` tell the layers.
  explicit LayerWatch(const NamedTensors& parameters);
  ~LayerWatch();
  LayerWatch(const LayerWatch&) = delete;

  /// Calls in the order of the first ones. A layer without parameters is none.
  const std::vector<LayerCall>& calls() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain::nets
