#pragma once
// First values of parameters, where a net's own are not wanted.

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// One way to draw them. Each rule reads some of the values.
struct InitRule {
  std::string name;                   ///< one of init_rule_names()
  double value = 0;                   ///< constant
  double mean = 0, std = 0.02;        ///< normal, trunc_normal
  std::vector<double> range = {};     ///< uniform: least and greatest; trunc_normal: likewise, empty: mean ± 2 std
  double gain = 1;                    ///< xavier_…, orthogonal
  bool fan_out = false;               ///< kaiming_…: of the two fans the outgoing one
  std::string nonlinearity = "relu";  ///< kaiming_…: relu, leaky_relu, tanh, sigmoid or linear
  double negative_slope = 0.01;       ///< kaiming_… with leaky_relu
};

/// Sets all values of `parameter` anew, drawing from torch's default generator of its device. As torch.nn.init's
/// functions of these names. Throws std::invalid_argument for an unknown rule, and for a tensor of too few dimensions.
void initialise(const at::Tensor& parameter, const InitRule& rule);

/// Known names, sorted.
std::vector<std::string> init_rule_names();

}  // namespace flowtrain::nets
