#pragma once
// A detector for which a picture that it cannot look at is damaged, and no reason to end.

#include <cstdint>
#include <vector>

#include "sampling/core/error.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// Another detector. What that throws as UserError(data), of a picture that is empty at a scale of the test, say, is a
/// SampleError of this one: the picture's damage.
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
