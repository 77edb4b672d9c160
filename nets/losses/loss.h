#pragma once
// Losses.

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// From a net's outputs and the batch to named scalars.
class Loss {
 public:
  virtual ~Loss() = default;
  /// First comes `loss`, the one to differentiate (scalar, f32), then scalars(). `logits` (B, K) f32 against `label`
  /// (B) i64; mse compares with the one-hot label, or with `target` of the logits' shape where the batch has one;
  /// `output` is the net's own, its output `loss`;
  /// the corner losses: nets/cornernet/loss.h. Where a batch is mixed, with `second_label` (B) and `label_weight` ()
  /// f64 on the CPU, cross_entropy is weight · CE(label) + (1 - weight) · CE(second_label), and mse compares with the
  /// sum of both one-hot labels, weighted so. Throws Mistake where labels and logits do not fit each other, as far as
  /// check_labels() (nets/labels.h) tells.
  virtual NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const = 0;
  /// What it reports beside `loss`, as `loss.<name>`: means over the batch's rows (scalars, f32).
  virtual std::vector<std::string> scalars() const { return {}; }
};

}  // namespace flowtrain::nets
