#pragma once
// The part of a picture that a sample shows, and the boxes on it: what the CornerNet samplers cut, resize and mirror.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"
#include "sampling/samplers/cornernet/draws.h"
#include "sampling/samplers/cornernet/options.h"

namespace flowtrain {

/// The longer side of a box.
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

/// A box on its way from the stored picture to the view. Coordinates are float32 at every step, as in the reference:
/// cells and offsets depend on it.
struct ViewBox {
  Box at;             ///< clipped to what is there of the picture
  Box whole;          ///< cornernet_saccade: scaled with the picture, but neither moved nor clipped
  bool shown = true;  ///< has corners on the heat maps; where other boxes lie, corners are neither right nor wrong
};

/// A sample before it becomes numbers. Keep it and fill it again: its memory is reused.
struct View {
  std::vector<std::uint8_t> pixels;  ///< (input height, input width, 3), red first
  std::vector<ViewBox> boxes;        ///< in annotation order
};

/// The boxes of a record, in pixels of its picture. Throws SampleError for a class that does not exist and for corners
/// that are no numbers; with quirks = "mend" also for a box that lies outside the picture or is turned inside out.
/// Boxes without area are left out later, by clipping: published data sets have some.
void take_boxes(std::span<const Box> boxes, const Picture& picture, const CornerOptions& options, View& view);

/// Fills view.pixels with a part of the picture (red first) and moves view.boxes along, those left empty removed. A
/// part of a drawn scale around a drawn centre, stretched to the input size; mirrored or not.
void cut_cornernet(const Picture& picture, const CornerOptions& options, DrawSource& draws, View& view);

/// The same for CornerNet-Saccade: the picture is scaled so that a drawn object gets a drawn size, and a part with that
/// object on it is cut. H. Law et al., "CornerNet-Lite", 2019.
void cut_saccade(const Picture& picture, const CornerOptions& options, DrawSource& draws, View& view);

// Steps of both.

/// How a part is cut along one axis: `count` pixels from `from` on of the picture go to `to` of the part; the rest of
/// the part is black.
struct AxisCut {
  int from, to, count;
};

/// The part of `length` pixels around `centre` of an axis of `size` pixels: half of `length` rounded down on each side,
/// so that an odd part keeps a black last line.
AxisCut cut_axis(int centre, int length, int size);

/// Clips boxes to [x0, x1 - 1] and [y0, y1 - 1] and removes those left without area.
void clip_boxes(std::vector<ViewBox>& boxes, float x0, float y0, float x1, float y1);

/// Mirrors the view left to right if a drawn number says so.
void maybe_flip(const Extent& size, DrawSource& draws, View& view);

}  // namespace flowtrain
