#pragma once
// What a detection net finds in the validation pictures, and how good that is.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pipeline/config/config.h"
#include "sampling/codecs/image.h"
#include "stages/compute.h"
#include "stages/detection/detector.h"
#include "stages/evaluation/ground_truth.h"
#include "stages/group.h"

namespace flowtrain {

/// Whether the configuration's net finds objects, so that it is measured by test_detection().
bool detects(const Config& config);

/// A record after the detector looked at it.
struct LookedAt {
  Sight sight;
  Image bgr;           ///< its picture, blue first
  std::string damage;  ///< why there is no picture; empty otherwise
};

/// Looks at records, each of which is read once: the next while the net looks at one. Calls `after` with each, until
/// that returns false.
std::vector<Sight> look_at(const Dataset& dataset, std::span<const std::uint64_t> records, Detector& detector,
                           const std::function<bool(const LookedAt&)>& after);

/// What a validation measures a detector by.
struct DetectionMetrics {
  const Dataset& dataset;          ///< of the validation
  std::vector<std::string> names;  ///< as in stages/evaluation/figures.h; at least one
};

/// The figures over `records`, of which each process of the group looks at its share; they do not depend on how many
/// processes there are. A collective. Nothing where `goes_on` became false meanwhile: in a group it must not.
std::optional<Figures> measure_detection(const DetectionMetrics& metrics, Detector& detector,
                                         const std::set<std::uint64_t>& records, Group& group,
                                         const std::function<bool()>& goes_on);

/// Runs the detector that `make` gives for a snapshot over the validation pictures and writes to `folder` results.json
/// (as MS COCO has it) and the first `pictures` of them with annotated and found boxes drawn (PNG). Logs the figures of
/// each class. Returns COCO's twelve and VOC's mean AP: `ap`, `ap50`, … Pictures that cannot be read are told, and
/// count as pictures in which nothing was found.
Figures test_detection(const Config& config, const std::filesystem::path& snapshot, const MakeDetector& make,
                       const std::filesystem::path& folder, std::size_t pictures);

}  // namespace flowtrain
