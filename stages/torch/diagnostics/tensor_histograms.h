#pragma once
// Histograms of a net's weights and gradients.

#include "nets/tensors.h"
#include "stages/trace/histogram.h"

namespace flowtrain {

/// Of each parameter ("weights/<name>"), and of its gradient where it has one ("gradients/<name>"). Counted on the
/// device; waits for it.
Histograms tensor_histograms(const nets::NamedTensors& parameters);

}  // namespace flowtrain
