#pragma once
// Where in an iteration numbers stop being finite: what a learner tells of it.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// The first place, in the order of execution, at which infinities or NaN come up in a micro-batch.
struct NonFiniteOrigin {
  /// "batch": a field has them; "parameters": the weights have them before the step; "net", "loss", "backward": an
  /// operation makes them of finite numbers; "norm": so does the norm of all gradients.
  std::string phase;
  std::string operation;  ///< as ATen calls it, "aten::addmm"; none in "batch" and "parameters"
  /// The batch's field, the parameter, or the layer: its parameters' names without the last part, "layer3.0.conv1".
  std::string layer;
  bool after_layer = false;  ///< the operation uses no parameters; `layer` comes last before it
  std::uint64_t nans = 0, infinities = 0, elements = 0;  ///< of what was made, or has them
  double largest_parameter = 0;                          ///< of the layer's, by size, before the step; 0: not known
  std::vector<std::size_t> rows;  ///< of the micro-batch, from 0, that are to blame; empty: cannot be told
  std::string rows_by;            ///< how they were found
};

}  // namespace flowtrain
