#pragma once
// Presents gradients that were computed with the loss to autograd.

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// The factors of given gradients, beside the gradient that comes in.
struct GradientFactor {
  at::Tensor divisor;  ///< a scalar by which the gradients are too large; undefined: 1
  at::Tensor one;  ///< a scalar that is 1; an incoming gradient that is this tensor needs no product; may be undefined
};

/// Returns `loss` (a scalar without history) as a function of `parameters` with `gradients`, in the same order: its
/// backward() multiplies them by the gradient that comes in and adds them to the parameters' own. It works once. `what`
/// names the graph for those who watch operations.
at::Tensor with_gradients(const at::Tensor& loss, const NamedTensors& parameters, std::vector<at::Tensor> gradients,
                          const GradientFactor& factor, const std::string& what);

/// Makes watchers of operations (at::RecordFunction) see an operation during its lifetime.
class WatchedOperation {
 public:
  /// `name` outlives it.
  WatchedOperation(const std::string& name, const std::vector<at::Tensor>& inputs);
  /// Returns whether somebody watches.
  bool is_watched() const { return call_.isActive(); }
  /// Reports the outputs of the operation.
  void made(const std::vector<at::Tensor>& outputs);

 private:
  at::RecordFunction call_{at::RecordScope::FUNCTION};
};

}  // namespace flowtrain::nets
