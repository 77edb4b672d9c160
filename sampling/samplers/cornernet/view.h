#pragma once
// The part of a picture that a sample shows, and the boxes on it: what the CornerNet samplers cut, resize and mirror.

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/samplers/cornernet/draws.h"
#include "sampling/samplers/cornernet/options.h"

namespace flowtrain {

/// A box on its way from the stored picture to the view. Coordinates are float32 at every step, as in the reference:
/// cells and offsets depend on it.
struct ViewBox {
  Box at;             ///< clipped to what is there of the picture
  Box whole;          ///< cornernet_saccade: scaled with the picture, but neither moved nor clipped
  bool shown = true;  ///< has corners on the heat maps; others are where corners are neither right nor wrong
};

/// A sample before it becomes numbers. Keep it and fill it again: its memory is reused.
struct View {
  std::vector<std::uint8_t> pixels;  ///< (input height, input width, 3), red first
  std::vector<ViewBox> boxes;        ///< in annotation order
};

/// The boxes of a record, in pixels of its picture. Throws SampleError for a class that is not there and for corners
/// that are no numbers; but for quirks = "mirror" also for a box that lies outside the picture or is turned inside out.
/// Boxes without area are left out later, by clipping: published data sets have some.
void take_boxes(std::span<const Box> boxes, const Picture& picture, const CornerOptions& options, View& view);

/// Fills view.pixels with a part of the picture (red first) and moves view.boxes along, those left empty removed. A
/// part of a drawn scale around a drawn centre, stretched to the input size; mirrored or not.
void cut_cornernet(const Picture& picture, const CornerOptions& options, DrawSource& draws, View& view);

/// The same for CornerNet-Saccade: the picture is scaled so that a drawn object gets a drawn size, and a part with that
/// object on it is cut. H. Law et al., "CornerNet-Lite", 2019.
void cut_saccade(const Picture& picture, const CornerOptions& options, DrawSource& draws, View& view);

}  // namespace flowtrain
