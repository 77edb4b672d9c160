#pragma once
// Runs a detection net on the validation pictures, and measures what it finds.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"
#include "stages/core/group.h"
#include "stages/detection/detector.h"
#include "stages/evaluation/coco_eval.h"
#include "stages/evaluation/ground_truth.h"
#include "stages/model/validator.h"

namespace flowtrain {

/// A record after the detector looked at it.
struct DetectedImage {
  ImageResult image_result;
  Image bgr;           ///< its picture, blue first
  std::string damage;  ///< why there is no picture, or none that the detector can look at (SampleError); else empty
  double seconds = 0;  ///< that the detector took
};

/// Looks at records, each of which is read once: the next ones, by `readers` threads, while the net looks at one. Calls
/// `after` with each, in their order, until that returns false.
std::vector<ImageResult> detect_in(const Dataset& dataset, const Decoding& decoding,
                                   std::span<const std::uint64_t> records, unsigned readers, Detector& detector,
                                   const std::function<bool(const DetectedImage&)>& after);

/// The measures of a detector over many pictures.
struct Measured {
  GroundTruth truth;
  std::vector<FoundObject> found;
  CocoEvaluation coco;
  Scalars scalars;                             ///< all of detection_metric_names()
  std::span<const ImageResult> image_results;  ///< what all of it is made of, by record
};

/// The metrics that a validation computes for a detector.
struct DetectionMetrics {
  const Dataset& dataset;                                   ///< of the validation
  std::vector<std::string> names;                           ///< as in stages/evaluation/metric_names.h; at least one
  Decoding decoding = {};                                   ///< that of its sampler
  std::function<void(const DetectedImage&)> on_image = {};  ///< told of each record that this process looked at
  std::function<void(const Measured&)> on_measured = {};    ///< rank 0's, told of all
};

/// The metrics over `records`, of which each process of the group looks at its share; they do not depend on how many
/// processes there are. A collective. Nothing where `goes_on` became false meanwhile: in a group it must not.
std::optional<Scalars> measure_detection(const DetectionMetrics& metrics, Detector& detector,
                                         const std::set<std::uint64_t>& records, Group& group,
                                         const std::function<bool()>& goes_on);

}  // namespace flowtrain
