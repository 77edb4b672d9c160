#pragma once
// Detectors that [detect] can name make boxes of a net's outputs. No LibTorch is needed here.

#include "sampling/core/registry.h"
#include "stages/detection/detector.h"

namespace flowtrain {

class SlabLayout;
namespace nets {
class Net;
}

/// A detector is made for a net and its batches.
struct DetectorInput {
  nets::Net& net;            ///< outlives the detector, and is in eval mode when the detector looks at a picture
  const SlabLayout& layout;  ///< has the fields of the net's batches; outlives the detector
  const Settings& sampler;   ///< [sampler], which makes these batches
  std::int64_t classes = 0;  ///< the number of the data set's classes
  std::string device;        ///< "cpu", "cuda:N": the net is there
};

template <>
struct TraitsOf<Detector> {
  std::vector<std::string> outputs = {};  ///< the names of the net's outputs that it reads
};

using DetectorEntry = Entry<Detector, DetectorInput>;

/// Holds the entries of [detect]. Makers throw UserError(usage), or std::invalid_argument, which is told at
/// detect.name.
Registry<Detector, DetectorInput>& detectors();

/// Returns the name of the detector that [detect] names, or else that of the net that [net] names; empty for a net that
/// has none.
std::string detector_name(const Settings& detect, const Settings& net);

/// Returns the keys by which boxes that overlap are thinned out. `algorithm` is the default of nms_algorithm.
std::vector<Key> nms_keys(const std::string& algorithm);
/// Returns the keys that make_box_detector() reads (stages/torch/detection/box_detector.h), nms_keys() among them.
std::vector<Key> box_keys();

}  // namespace flowtrain

/// At the end of a file of detectors, in namespace flowtrain: `FLOWTRAIN_DETECTORS(boxes) { detectors.add({…}); }`. Its
/// name is a line of stages/detection/detector_list.h, and FLOWTRAIN_MAKE() holds what needs LibTorch.
#define FLOWTRAIN_DETECTORS(file)                                                                     \
  void FLOWTRAIN_ENTRIES(file)(flowtrain::EntrySink<flowtrain::Detector, flowtrain::DetectorInput>&); \
  void FLOWTRAIN_ENTRIES(file)(flowtrain::EntrySink<flowtrain::Detector, flowtrain::DetectorInput> & detectors)
