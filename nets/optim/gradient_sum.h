#pragma once
// Gradients of several iterations, for one update.

#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Adds up the .grad of parameters over `iterations`, and puts their mean in place of the last one's.
class GradientSum {
 public:
  /// The parameters share storage, and outlive it. iterations > 0.
  GradientSum(const NamedTensors& parameters, double iterations);

  /// Parameters without a gradient add nothing. `skip`, where defined, is a scalar f32 on their device: 1 adds nothing.
  void add(const at::Tensor& skip = {});
  /// .grad becomes the mean, in the sum's type, and the sum begins anew; of parameters without a gradient now both stay
  /// as they are.
  void hand_out();
  /// The sums, named "gradient_sum.<parameter>", in the parameters' layout, f32 where those are bf16 or fp16: the
  /// tensors in use. To load, copy_ into them.
  NamedTensors state() const;

 private:
  NamedTensors parameters_;
  std::vector<at::Tensor> sums_;
  double iterations_;
};

}  // namespace flowtrain::nets
