#include "stages/torch/detection/make_detector.h"

#include "sampling/core/mistake.h"

namespace flowtrain {

#define FLOWTRAIN_FILE(file) void FLOWTRAIN_ENTRIES(file)(EntrySink<Detector, DetectorInput>&);
#include "stages/detection/detector_list.h"
#undef FLOWTRAIN_FILE

namespace {

void set_detector_makes() {
  static const bool once [[maybe_unused]] = [] {
    EntrySink<Detector, DetectorInput> sink(detectors(), true);
#define FLOWTRAIN_FILE(file) FLOWTRAIN_ENTRIES(file)(sink);
#include "stages/detection/detector_list.h"
#undef FLOWTRAIN_FILE
    return true;
  }();
}

}  // namespace

std::unique_ptr<Detector> make_detector(const std::string& name, const Settings& detect, const DetectorInput& input) {
  set_detector_makes();
  return rethrow_at_key(detect, "name", [&] { return detectors().at(name).make(detect, input); });
}

}  // namespace flowtrain
