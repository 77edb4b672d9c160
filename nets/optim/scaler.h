#pragma once
// Loss scaling for half precision: gradients too small for fp16 are scaled up, and the scale finds its own size.

#include "nets/tensors.h"

namespace flowtrain::nets {

/// As torch.amp.GradScaler: begins at 65536, is halved where a gradient is not finite (that update is left out), and
/// doubled after 2,000 updates without. P. Micikevicius et al., "Mixed Precision Training", ICLR 2018. For a loss in
/// half precision it is at most 32768.
class GradScaler {
 public:
  explicit GradScaler(at::Device device);

  /// What backward begins with.
  at::Tensor scaled(const at::Tensor& loss);
  /// Takes the scale off the gradients, once an iteration. Returns 1 where one of them is not finite, else 0: a scalar
  /// on their device.
  at::Tensor unscale(const NamedTensors& parameters);
  /// After each iteration: the next one's scale.
  void update();
  /// "scaler.scale" f32 and "scaler.growth" i32, scalars: the tensors in use. To load, copy_ into them.
  NamedTensors state() const { return {{"scaler.scale", scale_}, {"scaler.growth", growth_}}; }

 private:
  void keep_within_half();

  at::Tensor scale_, growth_, found_;
  bool begun_ = false, half_ = false;  ///< a loss was scaled; one in half precision
};

}  // namespace flowtrain::nets
