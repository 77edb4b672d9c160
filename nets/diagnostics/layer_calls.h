#pragma once
// Finds the layers that a forward pass of any net runs, and the shapes of their outputs.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The first call of a layer, with the shape of its output.
struct LayerCall {
  std::string layer;      ///< the layer's name, see layer_of() in op_watch.h
  std::string operation;  ///< "conv2d", "batch_norm"
  std::vector<std::int64_t> shape;
};

/// Runs `pass` in this thread, and returns the calls of layers in their order. A layer is found by its `parameters`, so
/// layers without parameters are not among them. Only one call may run at a time.
std::vector<LayerCall> layer_calls(const NamedTensors& parameters, const std::function<void()>& pass);

}  // namespace flowtrain::nets
