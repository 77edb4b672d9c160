#include "stages/detection/detector_entries.h"

#if FLOWTRAIN_COMPUTES
#include "stages/torch/detection/box_detector.h"
#endif

namespace flowtrain {

FLOWTRAIN_DETECTORS(boxes) {
  const std::vector<std::string> outputs{"boxes", "scores", "labels"};
  detectors.add({"boxes",
                 "reads the net's outputs boxes (rows, N, 4), in pixels of its input, scores and labels (rows, N)",
                 box_keys(),
                 FLOWTRAIN_MAKE([outputs](const Settings& settings, const DetectorInput& input) {
                   return make_box_detector(settings, input, outputs, [](const nets::NamedTensors& given) {
                     return BatchBoxes{given.at("boxes"), given.at("scores"), given.at("labels")};
                   });
                 }),
                 {.outputs = outputs}});
}

}  // namespace flowtrain
