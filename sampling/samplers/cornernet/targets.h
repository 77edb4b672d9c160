#pragma once
// The training targets of the CornerNet nets: bumps on corners' heat maps, offsets and places, attention maps.

#include <array>
#include <cstdint>
#include <span>

#include "sampling/samplers/cornernet/options.h"
#include "sampling/samplers/cornernet/view.h"

namespace flowtrain {

/// A box's bumps on the heat maps of its class: class, cells x and y of its top left and of its bottom right corner,
/// radius, 1 if it is shown. A box that is not shown only removes its surroundings from the maps of valid cells.
/// Class -1: no box.
using GaussianTarget = std::array<std::int32_t, 7>;

/// Where the targets of one sample are written; N = max_objects.
struct CornerTargets {
  GaussianTarget* gaussians;      ///< (gaussians_of(options)): the maps are drawn from them where the net computes
  std::uint8_t* mask;             ///< (N): 1 for each object
  float *tl_off, *br_off;         ///< (N, 2): x and y of a corner within its cell, in cells
  std::int64_t *tl_ind, *br_ind;  ///< (N): y · O + x of a corner's cell, O the output's width
  std::int32_t* untagged;         ///< (1): objects beyond N
};

/// How far both corners of a (height, width) box may move in any direction while it overlaps the true one by
/// `min_overlap` (intersection over union, in (0, 1)) at least: the smallest of three cases, as the authors corrected
/// them after the first release. The radius of the bumps: H. Law, J. Deng, "CornerNet", ECCV 2018.
double gaussian_radius(double height, double width, double min_overlap);

/// How many boxes leave bumps: four times as many as get tags.
inline std::int64_t gaussians_of(const CornerOptions& options) { return 4 * std::int64_t{options.max_objects}; }

/// Writes every element. Of more than N shown boxes the largest get tags, of equal ones the first, in annotation order;
/// with quirks = "mirror" they throw SampleError. Bumps are chosen likewise, among all boxes.
void write_targets(std::span<const ViewBox> boxes, const CornerOptions& options, const CornerTargets& targets);

/// Writes an attention map (size, size): 1 at the centre of each box whose long side is in its range.
void write_attention(std::span<const ViewBox> boxes, const AttentionMap& map, float* values);

}  // namespace flowtrain
