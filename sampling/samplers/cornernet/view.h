#pragma once
// The part of an image that a sample shows, and its boxes: the CornerNet samplers cut, resize and mirror it.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"
#include "sampling/samplers/cornernet/draws.h"
#include "sampling/samplers/cornernet/options.h"

namespace flowtrain {

/// Returns the longer side of a box.
inline float long_side(const Box& box) { return std::max(box.x1 - box.x0, box.y1 - box.y0); }

inline void scale_box(Box& box, float across, float down) {
  box.x0 *= across;
  box.x1 *= across;
  box.y0 *= down;
  box.y1 *= down;
}

inline void move_box(Box& box, float right, float down) {
  box.x0 += right;
  box.x1 += right;
  box.y0 += down;
  box.y1 += down;
}

/// A box between the stored image and the view. Coordinates are float32 at every step, as in the reference, because
/// cells and offsets depend on it.
struct ViewBox {
  Box at;             ///< the box, clipped to the visible part of the image
  Box whole;          ///< cornernet_saccade: scaled with the image, but neither moved nor clipped
  bool shown = true;  ///< the corners are on the heat maps; corners near other boxes do not count
};

/// A sample before it becomes numbers. Filling the same object again reuses its memory.
struct View {
  std::vector<std::uint8_t> pixels;  ///< (input height, input width, 3), red first
  std::vector<ViewBox> boxes;        ///< boxes in annotation order
};

/// Takes the boxes of a record, in pixels of its image. Throws SampleError for a class that does not exist and for
/// corners that are not numbers; with quirks = "mend" also for a box that is outside of the image or inverted. Boxes
/// without area are removed later, by clipping: published data sets have some.
void take_boxes(std::span<const Box> boxes, const Picture& picture, const CornerOptions& options, View& view);

/// Fills view.pixels with a part of the image (red first) of a random scale around a random centre, stretched to the
/// input size, mirrored or not. Moves view.boxes along, and removes empty ones.
void cut_cornernet(const Picture& picture, const CornerOptions& options, DrawSource& draws, View& view);

/// Fills the view for CornerNet-Saccade: the image is scaled so that a random object gets a random size, and a part
/// with that object is cut. H. Law et al., "CornerNet-Lite", 2019.
void cut_saccade(const Picture& picture, const CornerOptions& options, DrawSource& draws, View& view);

// Both functions use the steps below.

/// The cut of a part along one axis: `count` pixels from `from` on of the image go to `to` of the part; the rest of the
/// part is black.
struct AxisCut {
  int from, to, count;
};

/// Cuts the part of `length` pixels around `centre` of an axis of `size` pixels: half of `length` rounded down on each
/// side, so that an odd part keeps a black last line.
AxisCut cut_axis(int centre, int length, int size);

/// Clips boxes to [x0, x1 - 1] and [y0, y1 - 1] and removes those left without area.
void clip_boxes(std::vector<ViewBox>& boxes, float x0, float y0, float x1, float y1);

/// Mirrors the view left to right if a random number says so.
void maybe_flip(const Extent& size, DrawSource& draws, View& view);

}  // namespace flowtrain
