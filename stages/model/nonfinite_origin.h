#pragma once
// A learner's report of the place in an iteration at which numbers stop being finite.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// The first place, in the order of execution, at which infinities or NaN appear in a micro-batch.
struct NonFiniteOrigin {
  /// "batch": a field has them; "parameters": the weights have them before the step; "net", "loss", "backward": an
  /// operation makes them of finite numbers; "norm": the norm of all gradients is not finite.
  std::string phase;
  std::string operation;  ///< ATen's name, "aten::addmm"; empty in "batch" and "parameters"
  /// The batch's field, the parameter, or the layer: its parameters' names without the last part, "layer3.0.conv1".
  std::string layer;
  bool after_layer = false;                              ///< the operation uses no parameters and follows `layer`
  std::uint64_t nans = 0, infinities = 0, elements = 0;  ///< counts in the tensor that has them
  double largest_parameter = 0;   ///< largest absolute value of the layer's parameters before the step; 0: not known
  std::vector<std::size_t> rows;  ///< guilty rows of the micro-batch, from 0; empty: not known
  std::string rows_by;            ///< method that found them
};

}  // namespace flowtrain
