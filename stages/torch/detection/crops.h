#pragma once
// The parts of a picture that CornerNet-Saccade examines: attention maps give locations, these enlarged crops, whose
// boxes map back.

#include <ATen/core/Tensor.h>

#include <array>
#include <span>
#include <vector>

#include "stages/detection/locations.h"

namespace flowtrain {

/// Returns each map (B, 1, z, z) with all but its peaks set to 0: a cell stays if no cell in the window of `kernels[i]`
/// cells squared around it is greater. Kernels are odd.
std::vector<at::Tensor> attention_peaks(const std::vector<at::Tensor>& maps, const std::vector<int>& kernels);

struct AttentionOptions {
  int height, width;            ///< size of the picture; locations outside are left out
  float threshold;              ///< attention counts above it
  std::vector<double> factors;  ///< further enlargement per map
  std::vector<int> ratios;      ///< input pixels per cell, for each map
  bool only_closer = false;     ///< leaves out maps whose factor is not above 1
};

/// Returns the locations with attention, by crop, map and row. `scales` are those of the examined crops; `offsets` (B,
/// 2) f32: y, x of their corners. Crops enlarged by more than 2 are not enlarged again, and none by more than 4.
std::vector<Location> attended(const std::vector<at::Tensor>& maps, const std::vector<double>& scales,
                               const at::Tensor& offsets, const AttentionOptions& options);

struct Crops {
  at::Tensor images;   ///< (n, 3, h, w) f32, values as in the picture, zeros outside of it
  at::Tensor scales;   ///< (n) f64
  at::Tensor offsets;  ///< (n, 2) f32: y, x of each crop's corner in the picture; may be negative
};

/// Cuts for each location the part of `picture` (3, H, W) f64 that fills `input_size` {height, width} when enlarged by
/// the location's scale, with the location in the middle. Bilinear, half-pixel centres.
Crops cut_crops(const at::Tensor& picture, std::span<const Location> locations, std::array<int, 2> input_size);

/// Moves boxes (n, k, 8) from cells of the heat maps to pixels of the net's input, in place.
void to_input_pixels(at::Tensor& boxes, std::array<int, 2> input_size, std::array<int, 2> output_size);
/// Moves boxes from pixels of the input to pixels of the picture, in place. `scales` (n), `offsets` (n, 2).
void to_picture_pixels(at::Tensor& boxes, const at::Tensor& scales, const at::Tensor& offsets);

}  // namespace flowtrain
