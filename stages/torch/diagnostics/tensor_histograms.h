#pragma once
// Histograms of a net's weights and gradients.

#include "nets/tensors.h"
#include "stages/trace/histogram.h"

namespace flowtrain {

/// Counts each parameter ("weights/<name>") and its gradient, if any ("gradients/<name>"). It waits for the device.
Histograms tensor_histograms(const nets::NamedTensors& parameters);

}  // namespace flowtrain
