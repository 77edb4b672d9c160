#pragma once
// A detector that treats an unusable picture as damaged, and goes on.

#include <cstdint>
#include <vector>

#include "sampling/core/error.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// Calls another detector. Turns a UserError(data) of that, for example of a picture that is empty at a scale of the
/// test, into a SampleError: the picture is damaged.
class PatientDetector final : public Detector {
 public:
  /// `detector` must outlive it.
  explicit PatientDetector(Detector& detector) : detector_(detector) {}

  std::vector<Detection> detect(const std::uint8_t* bgr, int height, int width) override {
    try {
      return detector_.detect(bgr, height, width);
    } catch (const UserError& error) {
      if (error.code() != ExitCode::data) throw;
      throw SampleError(error.what());
    }
  }

 private:
  Detector& detector_;
};

}  // namespace flowtrain
