#pragma once
// What the CornerNet nets are to find in a view: heat maps of corners, their offsets and places, attention maps.

#include <cstdint>
#include <span>

#include "sampling/samplers/cornernet/options.h"
#include "sampling/samplers/cornernet/view.h"

namespace flowtrain {

/// Where the targets of one sample are written; C classes, O the output size, N = max_objects.
struct CornerTargets {
  float *tl_heat, *br_heat;          ///< (C, O, O): a bump at each top left (bottom right) corner
  std::uint8_t* mask;                ///< (N): 1 for each object
  float *tl_off, *br_off;            ///< (N, 2): x and y of a corner within its cell, in cells
  std::int64_t *tl_ind, *br_ind;     ///< (N): y · O + x of a corner's cell
  float *tl_valid, *br_valid;        ///< (C, O, O): 0 around corners that are neither right nor wrong; may be null
};

/// Writes every element. All shown boxes are on the heat maps; tags go to the first N of them. Of more than N, the
/// largest get tags, of equal ones the first, in annotation order; with quirks = "mirror" they throw SampleError.
void write_targets(std::span<const ViewBox> boxes, const CornerOptions& options, const CornerTargets& targets);

/// Writes an attention map (size, size): 1 at the centre of each box whose long side is in its range.
void write_attention(std::span<const ViewBox> boxes, const AttentionMap& map, float* values);

}  // namespace flowtrain
