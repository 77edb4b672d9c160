#pragma once
// Helpers for named tensors.

#include <ATen/core/Tensor.h>

#include <vector>

#include "nets/optim/optimizer.h"
#include "nets/tensors.h"

namespace flowtrain {

/// Adds all of `more`, whose names must not be there yet.
inline void append(nets::NamedTensors& to, const nets::NamedTensors& more) {
  for (const auto& [name, tensor] : more) to.add(name, tensor);
}

/// Returns the tensors alone, in their order.
inline std::vector<at::Tensor> tensors_of(const nets::NamedTensors& named) {
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : named) all.push_back(tensor);
  return all;
}

/// Returns the same names with the result of `change` for each tensor.
template <class Change>
nets::NamedTensors mapped(const nets::NamedTensors& named, const Change& change) {
  nets::NamedTensors result;
  for (const auto& [name, tensor] : named) result.add(name, change(tensor));
  return result;
}

/// Returns the parameters of all groups.
inline nets::NamedTensors parameters_of(const std::vector<nets::ParameterGroup>& groups) {
  nets::NamedTensors all;
  for (const auto& group : groups) append(all, group.parameters);
  return all;
}

}  // namespace flowtrain
