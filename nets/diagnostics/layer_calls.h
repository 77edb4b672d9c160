#pragma once
// Finds the layers that a forward pass runs, whatever the net is made of, and the shapes of their outputs.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The first call of a layer, with the shape of its output.
struct LayerCall {
  std::string layer;      ///< see layer_of() in op_watch.h
  std::string operation;  ///< "conv2d", "batch_norm"
  std::vector<std::int64_t> shape;
};

/// Runs `pass` in this thread, and returns the calls of layers in their order. `parameters` tell the layers, so only
/// those with parameters are among them. One at a time.
std::vector<LayerCall> layer_calls(const NamedTensors& parameters, const std::function<void()>& pass);

}  // namespace flowtrain::nets
