#pragma once
// Rules for the first values of parameters, which replace the net's own.

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// One rule for drawing values. Each rule reads some of these members.
struct InitRule {
  std::string name;                   ///< one of init_rule_names()
  double value = 0;                   ///< the value of constant
  double mean = 0, std = 0.02;        ///< read by normal and trunc_normal
  std::vector<double> range = {};     ///< read by uniform and trunc_normal: least and greatest; empty: mean ± 2 std
  double gain = 1;                    ///< read by xavier_… and orthogonal
  bool fan_out = false;               ///< kaiming_…: use the outgoing fan
  std::string nonlinearity = "relu";  ///< kaiming_…: relu, leaky_relu, tanh, sigmoid or linear
  double negative_slope = 0.01;       ///< read by kaiming_… with leaky_relu
};

/// Sets all values of `parameter` like torch.nn.init's function of this name, drawing from torch's default generator of
/// its device. Throws std::invalid_argument for an unknown rule, and for a tensor of too few dimensions.
void initialise(const at::Tensor& parameter, const InitRule& rule);

/// Returns the names of all rules, sorted.
std::vector<std::string> init_rule_names();

}  // namespace flowtrain::nets
