#pragma once
// Sums gradients of several iterations for one update.

#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Adds up the .grad of parameters over `iterations`, and replaces the last .grad by their mean.
class GradientSum {
 public:
  /// The parameters share storage, and outlive it; iterations > 0.
  GradientSum(const NamedTensors& parameters, double iterations);

  /// Adds the gradients that exist. `skip`, if defined, is a scalar f32 on their device: 1 adds nothing.
  void add(const at::Tensor& skip = {});
  /// Sets .grad to the mean, in the sum's type, and restarts the sum; parameters that have no gradient now keep both.
  void hand_out();
  /// Returns the sums in use, named "gradient_sum.<parameter>", in the parameters' layout, f32 for bf16 and fp16. Copy
  /// into them to load.
  NamedTensors state() const;

 private:
  NamedTensors parameters_;
  std::vector<at::Tensor> sums_;
  double iterations_;
};

}  // namespace flowtrain::nets
