#pragma once
// A detector for which a picture that it cannot look at is damaged, and no reason to end.

#include <cstdint>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "stages/clock.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// Another detector. What that throws as UserError(data), of a picture that is empty at a scale of the test, say, is
/// told of the picture, in which nothing is found.
class PatientDetector final : public Detector {
 public:
  /// `detector` must outlive it.
  explicit PatientDetector(Detector& detector) : detector_(detector) {}

  std::vector<Detection> detect(const std::uint8_t* bgr, int height, int width) override {
    const auto begin = std::chrono::steady_clock::now();
    damage.clear();
    std::vector<Detection> found;
    try {
      found = detector_.detect(bgr, height, width);
    } catch (const UserError& error) {
      if (error.code() != ExitCode::data) throw;
      damage = error.what();
    }
    seconds = seconds_since(begin);
    return found;
  }

  std::string damage;  ///< of the last picture; empty: none
  double seconds = 0;  ///< that it took

 private:
  Detector& detector_;
};

}  // namespace flowtrain
