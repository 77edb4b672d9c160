#pragma once
// The training targets of the CornerNet nets: Gaussians on corners' heat maps, offsets and places, attention maps.

#include <array>
#include <cstdint>
#include <span>

#include "sampling/samplers/cornernet/options.h"
#include "sampling/samplers/cornernet/view.h"

namespace flowtrain {

/// A box's Gaussians on the heat maps of its class: class, cells x and y of its top left and of its bottom right
/// corner, radius, 1 if it is shown. A box that is not shown only removes its surroundings from the maps of valid
/// cells. Class -1 means no box.
using GaussianTarget = std::array<std::int32_t, 7>;

/// The destinations of one sample's targets; N = max_objects.
struct CornerTargets {
  GaussianTarget* gaussians;      ///< (gaussians_of(options)): the maps are drawn from them where the net computes
  std::uint8_t* mask;             ///< (N): 1 for each object
  float *tl_off, *br_off;         ///< (N, 2): x and y of a corner within its cell, in cells
  std::int64_t *tl_ind, *br_ind;  ///< (N): y · O + x of a corner's cell, O the output's width
  std::int32_t* untagged;         ///< (1): number of objects beyond N
};

/// Returns how far both corners of a (height, width) box may move in any direction while it overlaps the true one by at
/// least `min_overlap` (intersection over union, in (0, 1)): the smallest of three cases, as the authors corrected them
/// after the first release. It is the radius of the Gaussians: H. Law, J. Deng, "CornerNet", ECCV 2018.
double gaussian_radius(double height, double width, double min_overlap);

/// Returns how many boxes get Gaussians: four times as many as get tags.
inline std::int64_t gaussians_of(const CornerOptions& options) { return 4 * std::int64_t{options.max_objects}; }

/// Writes every element. The N largest shown boxes get tags, of equal ones the first, in annotation order; quirks =
/// "mirror" throws SampleError for more. Gaussians are chosen in the same way among all boxes.
void write_targets(std::span<const ViewBox> boxes, const CornerOptions& options, const CornerTargets& targets);

/// Writes an attention map (size, size): 1 at the centre of each box whose long side is in its range.
void write_attention(std::span<const ViewBox> boxes, const AttentionMap& map, float* values);

}  // namespace flowtrain
