#pragma once
// Runs a detection net on the validation pictures, and measures its results.

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

/// The detector's result for a record.
struct DetectedImage {
  ImageResult image_result;
  Image bgr;           ///< The picture, blue first.
  std::string damage;  ///< The reason why the picture is unusable (SampleError), or empty.
  double seconds = 0;  ///< The time that the detector took.
};

/// Detects objects in records. Each is read once, by one of `readers` threads, while the net works on an earlier one.
/// Calls `after` with each result, in the order of the records, until that returns false.
std::vector<ImageResult> detect_in(const Dataset& dataset, const Decoding& decoding,
                                   std::span<const std::uint64_t> records, unsigned readers, Detector& detector,
                                   const std::function<bool(const DetectedImage&)>& after);

/// The measures of a detector over many pictures.
struct Measured {
  GroundTruth truth;
  std::vector<FoundObject> found;
  CocoEvaluation coco;
  Scalars scalars;                             ///< All metrics of detection_metric_names().
  std::span<const ImageResult> image_results;  ///< The results that were measured, by record.
};

/// The metrics that a validation computes for a detector.
struct DetectionMetrics {
  const Dataset& dataset;                                   ///< The data of the validation.
  std::vector<std::string> names;                           ///< At least one name of stages/evaluation/metric_names.h.
  Decoding decoding = {};                                   ///< The decoding of its sampler.
  std::function<void(const DetectedImage&)> on_image = {};  ///< Called with each record of this process.
  std::function<void(const Measured&)> on_measured = {};    ///< Called in rank 0 with all results.
};

/// Returns the metrics over `records`. Each process of the group works on its share; the number of processes does not
/// change the metrics. Returns nothing if `goes_on` became false meanwhile. A collective.
std::optional<Scalars> measure_detection(const DetectionMetrics& metrics, Detector& detector,
                                         const std::set<std::uint64_t>& records, Group& group,
                                         const std::function<bool()>& goes_on);

}  // namespace flowtrain
