#pragma once

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::nets {

/// Computes named scalars from a net's outputs and the batch.
class Loss {
 public:
  virtual ~Loss() = default;
  /// Returns `loss`, the one to differentiate (scalar, f32), and then scalars(). It compares `logits` (B, K) f32 with
  /// `label` (B) i64; mse compares them with the one-hot label, or with `target` of the logits' shape if the batch has
  /// one; `output` returns the net's own output `loss`; nets/cornernet/loss.h describes the corner losses. If a batch
  /// is mixed, with `second_label` (B) and `label_weight` () f64 on the CPU, cross_entropy is the weighted sum of both
  /// losses, and mse compares with the weighted sum of both one-hot labels. Throws Mistake if labels and logits do not
  /// fit, see check_labels() (nets/labels.h).
  virtual NamedTensors operator()(const NamedTensors& outputs, const NamedTensors& batch) const = 0;
  /// Returns the names of further values, reported as `loss.<name>`: means over the batch's rows (scalars, f32).
  virtual std::vector<std::string> scalars() const { return {}; }
  /// Returns whether `loss` is the mean over terms that it counts itself, such as labels that are not ignored. It then
  /// gives their number as `count` (a scalar of any type on its device), and is 0 if there are none. The loss of an
  /// iteration is the mean over the terms of all of its batches and processes.
  virtual bool counts() const { return false; }

 protected:
  /// Returns the mean of a sum over `count` terms: 0 without terms.
  static at::Tensor mean_of(const at::Tensor& sum, const at::Tensor& count) {
    return sum.div(count.add(count.eq(0))).to(sum.scalar_type());
  }
};

}  // namespace flowtrain::nets
