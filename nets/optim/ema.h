#pragma once
// An exponential moving average of the weights.

#include <cstdint>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Follows the parameters: average = d · average + (1 - d) · parameter after each iteration i, d = decay or, with a
/// warm-up, the least of decay and (1 + i) / (10 + i) (as TensorFlow's ExponentialMovingAverage, with num_updates).
/// Averages of parameters in bf16 and fp16 are f32.
class Ema {
 public:
  /// 0 < decay < 1, else std::invalid_argument. The parameters share storage, and outlive it.
  Ema(const NamedTensors& parameters, double decay, bool warmup);

  void update(std::uint64_t iteration);
  /// Puts the averages where the parameters are, and the parameters in their place; a second time undoes it.
  void swap();
  /// From now on it averages from the parameters as they are.
  void restart();
  /// The averages, named "ema.<parameter>": the tensors in use. To load, copy_ into them.
  NamedTensors state() const;

 private:
  void swap_half();

  NamedTensors parameters_;
  std::vector<at::Tensor> weights_, averages_;
  std::vector<at::Tensor> kept_;  // weights in half precision, while averages are in their place
  double decay_;
  bool warmup_;
};

}  // namespace flowtrain::nets
