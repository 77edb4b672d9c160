#pragma once
// Losses.

#include <memory>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

struct LossSpec {
  std::string name = "cross_entropy";  ///< cross_entropy, mse
  double label_smoothing = 0;          ///< cross_entropy: 0 ≤ s < 1 (C. Szegedy et al., CVPR 2016)
};

/// From a net's outputs and the batch to named scalars.
class Loss {
 public:
  virtual ~Loss() = default;
  /// First comes `loss`, the one to differentiate (scalar, f32); parts may follow. `logits` (B, K) f32 against `label`
  /// (B) i64; mse compares with the one-hot label, or with `target` of the logits' shape where the batch has one.
  virtual NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const = 0;
};

/// Throws std::invalid_argument for an unknown name, or a smoothing out of range or of a loss that has none.
std::unique_ptr<Loss> make_loss(const LossSpec& spec);
/// Known names, sorted.
std::vector<std::string> loss_names();

}  // namespace flowtrain::nets
