#pragma once
// Turns a validation's samples of one set into files.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/engine/validation/samples.h"

namespace flowtrain {

/// A file's name and its bytes.
using NamedBytes = std::pair<std::string, std::vector<std::byte>>;

/// Makes NN.png for each sample, and worst-NN.png for the worst ones; beside a picture with boxes NN-boxes.png, which
/// has them drawn; NN-prediction.png and NN-label.png if the net makes pictures, and NN.FIELD.png of further fields
/// that are shown as pictures, NN.FIELD.wav of those that are shown as sounds. The last file is pictures.json:
///   {"iter", "set", "kind", "samples": […], "worst": […]}, and "worst-<name>": […] of each further list
/// with the existing ones of these for each sample: `file`, `id`, `label` and `prediction` (names of classes, or
/// numbers if they have no names), `score` 0 … 1, `loss`, `boxes_file`, `prediction_file`, `label_file`,
/// `reference`, `hypothesis`, `alignment` (marked_edits()), `edits` and `words` of a net that writes texts,
/// `fields`, {"name", "text", "file", "sound_file"} of each field that is neither the picture nor the class, and
/// `boxes`, {"x1", "y1", "x2", "y2", "label", "score", "truth"} in pixels of the picture: annotated ones, then at most
/// 50 found ones, the best first.
std::vector<NamedBytes> picture_files(const ShownSamples& shown, std::uint64_t iteration);

}  // namespace flowtrain
