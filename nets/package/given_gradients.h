#pragma once
// Gradients that were computed with the loss, as autograd sees them.

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The factor of gradients that are given, beside the gradient that comes in.
struct GradientFactor {
  at::Tensor divisor;  ///< a scalar: what the gradients are too large by; undefined: 1
  at::Tensor one;  ///< a scalar that is 1: an incoming gradient that is this tensor is known to be; may be undefined
};

/// `loss` (a scalar without history) as a function of `parameters` whose gradients are `gradients`, in the same order:
/// backward() of what it returns multiplies them by the gradient that comes in and adds them to the parameters' own,
/// as if it computed them. It may be gone through once. `what`: the graph, for those who watch operations.
at::Tensor with_gradients(const at::Tensor& loss, const NamedTensors& parameters, std::vector<at::Tensor> gradients,
                          const GradientFactor& factor, const std::string& what);

/// While it lives, an operation is under way, to those who watch operations (at::RecordFunction).
class WatchedOperation {
 public:
  /// `name` outlives it.
  WatchedOperation(const std::string& name, const std::vector<at::Tensor>& inputs);
  /// Whether somebody watches.
  bool is_watched() const { return call_.isActive(); }
  /// What it has made.
  void made(const std::vector<at::Tensor>& outputs);

 private:
  at::RecordFunction call_{at::RecordScope::FUNCTION};
};

}  // namespace flowtrain::nets
