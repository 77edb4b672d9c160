#pragma once
// This detector is for nets whose outputs are boxes, or for whose outputs a function makes boxes.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nets/tensors.h"
#include "stages/detection/detector_entries.h"

namespace flowtrain {

/// The boxes of a batch of B pictures: N for each picture. Where there are fewer, the rest have score 0.
struct BatchBoxes {
  at::Tensor boxes;   ///< (B, N, 4): x0, y0, x1, y1 in pixels of the net's input; x1, y1 are exclusive
  at::Tensor scores;  ///< (B, N), 0 … 1
  at::Tensor labels;  ///< (B, N): classes from 0
};

/// Makes boxes of the outputs of a net.
using ReadBoxes = std::function<BatchBoxes(const nets::NamedTensors& outputs)>;

/// Makes a detector that shows the net each whole picture, stretched to the size of the batches' `image` and normalised
/// as that is; fields beside the image are zeros. It asks the net for `outputs`, reads boxes from them, thins out those
/// that overlap, and moves the rest into the picture. `settings` has the keys of box_keys(). Throws
/// std::invalid_argument for batches without such an image. The detector throws UserError(usage) for boxes of other
/// shapes.
std::unique_ptr<Detector> make_box_detector(const Settings& settings, const DetectorInput& input,
                                            std::vector<std::string> outputs, ReadBoxes read);

}  // namespace flowtrain
