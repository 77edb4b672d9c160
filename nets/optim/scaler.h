#pragma once
// Loss scaling for half precision: small gradients are scaled up for fp16, and the scale adapts.

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Scales losses like torch.amp.GradScaler: the scale begins at 65536, is halved if a gradient is not finite (that
/// update is skipped), and doubled after 2,000 updates without one. P. Micikevicius et al., "Mixed Precision Training",
/// ICLR 2018. For a loss in half precision it is at most 32768.
class GradScaler {
 public:
  explicit GradScaler(at::Device device);

  /// Returns the scaled loss, from which backward begins.
  at::Tensor scaled(const at::Tensor& loss);
  /// Divides the gradients by the scale, once an iteration. Returns 1 if one of them is not finite, else 0: a scalar on
  /// their device.
  at::Tensor unscale(const NamedTensors& parameters);
  /// Computes the scale of the next iteration, after each one.
  void update();
  /// Returns the tensors in use: "scaler.scale" f32 and "scaler.growth" i32, scalars. Copy into them to load.
  NamedTensors state() const { return {{"scaler.scale", scale_}, {"scaler.growth", growth_}}; }

 private:
  void keep_within_half();

  at::Tensor scale_, growth_, found_;
  bool begun_ = false, half_ = false;  ///< a loss was scaled; a loss was in half precision
};

}  // namespace flowtrain::nets
