#pragma once
// An exponential moving average of the weights.

#include <cstdint>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Follows the parameters: average = d · average + (1 - d) · parameter after each iteration i, d = decay or, with a
/// warm-up, the smaller one of decay and (1 + i) / (10 + i) (as in TensorFlow's ExponentialMovingAverage with
/// num_updates). Averages of parameters in bf16 and fp16 are f32.
class Ema {
 public:
  /// Throws std::invalid_argument unless 0 < decay < 1. The parameters share storage, and outlive it.
  Ema(const NamedTensors& parameters, double decay, bool warmup);

  void update(std::uint64_t iteration);
  /// Exchanges the averages and the parameters; a second call undoes it.
  void swap();
  /// Restarts the average from the current parameters.
  void restart();
  /// Returns the averages in use, named "ema.<parameter>". Copy into them to load.
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
