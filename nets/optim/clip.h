#pragma once
// Gradients kept within bounds.

#include "nets/tensors.h"

namespace flowtrain::nets {

enum class ClipBy {
  norm,      ///< all gradients together are scaled down to a norm
  value,     ///< each element is cut off at ± the limit
  adaptive,  ///< each unit's gradient, to the limit × the norm of its weights: A. Brock et al., "High-Performance
             ///< Large-Scale Image Recognition Without Normalization", ICML 2021
};

struct ClipSpec {
  ClipBy by = ClipBy::norm;
  double limit = 0;  ///< 0: gradients are measured only
  double p = 2;      ///< of the norm; infinity: the greatest magnitude
};

/// What was found. Scalars on the gradients' device, so that nobody waits for it.
struct Clipped {
  at::Tensor norm;  ///< of all gradients, before clipping: the p-norm for ClipBy::norm, else the 2-norm; 0 where there
                    ///< are none
  at::Tensor cut;   ///< 1 where any gradient was changed, else 0; undefined where only measured
};

/// Clips in place. Throws std::invalid_argument for a negative limit, or a p that is not more than 0.
Clipped clip_gradients(const NamedTensors& parameters, const ClipSpec& spec);

}  // namespace flowtrain::nets
