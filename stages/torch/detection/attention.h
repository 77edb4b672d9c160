#pragma once
// From CornerNet-Saccade's attention maps to where it looks next.

#include <ATen/core/Tensor.h>

#include <vector>

#include "stages/detection/locations.h"

namespace flowtrain {

/// Each map (B, 1, z, z) with all but its peaks set to 0: a cell stays if nothing in the window of `kernels[i]` cells
/// squared around it is greater. Kernels are odd.
std::vector<at::Tensor> attention_peaks(const std::vector<at::Tensor>& maps, const std::vector<int>& kernels);

struct AttentionOptions {
  int height, width;            ///< of the picture; locations outside are left out
  float threshold;              ///< attention counts above it
  std::vector<double> factors;  ///< per map: how much further to enlarge
  std::vector<int> ratios;      ///< per map: input pixels a cell
  bool only_closer = false;     ///< leaves out maps whose factor is not above 1
};

/// Where attention is, by crop, map and row. `scales`: of the crops that were looked at; `offsets` (B, 2) f32: y, x of
/// their corners. Crops enlarged by more than 2 are not enlarged again, and nothing by more than 4.
std::vector<Location> attended(const std::vector<at::Tensor>& maps, const std::vector<double>& scales,
                               const at::Tensor& offsets, const AttentionOptions& options);

}  // namespace flowtrain
