#pragma once
// Gradient clipping.

#include "nets/tensors.h"

namespace flowtrain::nets {

enum class ClipBy {
  norm,      ///< all gradients together are scaled down to a norm
  value,     ///< each element is cut off at ± the limit
  adaptive,  ///< each unit's gradient is cut to the limit × the norm of its weights: A. Brock et al., "High-Performance
             ///< Large-Scale Image Recognition Without Normalization", ICML 2021
};

struct ClipSpec {
  ClipBy by = ClipBy::norm;
  double limit = 0;  ///< the limit; 0: gradients are only measured
  double p = 2;      ///< order of the norm; infinity: the greatest magnitude
};

/// The results of clipping: scalars on the gradients' device, so that nobody waits for it.
struct Clipped {
  at::Tensor norm;  ///< norm of all gradients before clipping: the p-norm for ClipBy::norm, else the 2-norm; 0 without
                    ///< gradients
  at::Tensor cut;   ///< 1 where any gradient was changed, else 0; undefined where only measured
};

/// Clips in place. Throws std::invalid_argument for a negative limit, or a p that is not more than 0.
Clipped clip_gradients(const NamedTensors& parameters, const ClipSpec& spec);

}  // namespace flowtrain::nets
