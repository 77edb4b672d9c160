#pragma once
// Detectors find the objects in a picture. No torch here; they are made in stages/torch/detection/.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// An object that was found: its corners in pixels of the picture, its score 0 … 1, its class from 0.
struct Detection {
  float x0, y0, x1, y1;
  float score;
  int category;
};

/// A detector looks at pictures through a net. One thread at a time.
class Detector {
 public:
  virtual ~Detector() = default;
  /// Returns the objects by class, the best first. `bgr` has height · width · 3 bytes, blue first. Throws UserError
  /// (data) for a picture that is empty or becomes so at a test scale.
  virtual std::vector<Detection> detect(const std::uint8_t* bgr, int height, int width) = 0;
};

}  // namespace flowtrain
