#pragma once
// What a validation shows of one set, as files.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/engine/validation/samples.h"

namespace flowtrain {

/// A file's name and its bytes.
using NamedBytes = std::pair<std::string, std::vector<std::byte>>;

/// For each sample NN.png, of the worst ones worst-NN.png; beside a picture with boxes NN-boxes.png, where they are
/// drawn; NN-prediction.png and NN-label.png where the net makes pictures. Last comes pictures.json:
///   {"iter", "set", "kind", "samples": […], "worst": […]}, and "worst-<name>": […] of each further list
/// with, of each sample, as far as there is such a thing: `file`, `id`, `label` and `prediction` (names of classes, or
/// numbers where they have no names), `confidence` 0 … 1, `loss`, `boxes_file`, `prediction_file`, `label_file`, and
/// `boxes`, {"x1", "y1", "x2", "y2", "label", "score", "truth"} in pixels of the picture: annotated ones, then at most
/// 50 that were found, the best first.
std::vector<NamedBytes> picture_files(const ShownSamples& shown, std::uint64_t iteration);

}  // namespace flowtrain
