#pragma once
// Losses.

#include <memory>
#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

struct LossSpec {
  std::string name = "cross_entropy";  ///< cross_entropy, mse, output, cornernet, cornernet_saccade
  double label_smoothing = 0;          ///< cross_entropy: 0 ≤ s < 1 (C. Szegedy et al., CVPR 2016)
  /// cornernet, cornernet_saccade: weights of the parts, ≥ 0.
  double pull_weight = 0.1, push_weight = 0.1, off_weight = 1;
  std::int64_t classes = 0;  ///< of the data; 0: not known
};

/// From a net's outputs and the batch to named scalars.
class Loss {
 public:
  virtual ~Loss() = default;
  /// First comes `loss`, the one to differentiate (scalar, f32), then figures(). `logits` (B, K) f32 against `label`
  /// (B) i64; mse compares with the one-hot label, or with `target` of the logits' shape where the batch has one;
  /// `output` is the net's own, its output `loss`;
  /// the corner losses: nets/cornernet/loss.h. Where a batch is mixed, with `second_label` (B) and `label_weight` ()
  /// f64 on the CPU, cross_entropy is weight · CE(label) + (1 - weight) · CE(second_label), and mse compares with the
  /// sum of both one-hot labels, weighted so. Throws Mistake where labels and logits do not fit each other, as far as
  /// check_labels() (nets/labels.h) tells.
  virtual NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const = 0;
  /// What it reports beside `loss`, as `loss.<name>`: means over the batch's rows (scalars, f32).
  virtual std::vector<std::string> figures() const { return {}; }
};

/// Throws std::invalid_argument for an unknown name, a smoothing out of range or of a loss that has none, and a
/// negative weight.
std::unique_ptr<Loss> make_loss(const LossSpec& spec);
/// Known names, sorted.
std::vector<std::string> loss_names();

}  // namespace flowtrain::nets
