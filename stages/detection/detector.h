#pragma once
// Detectors: from a picture to the objects in it. No torch here; those of the CornerNet family are in
// stages/torch/detection/.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

class Settings;

/// An object: its corners in pixels of the picture, its score 0 … 1, its class from 0.
struct Detection {
  float x0, y0, x1, y1;
  float score;
  int category;
};

class Detector {
 public:
  virtual ~Detector() = default;
  /// Objects by class, best first. `bgr`: height · width · 3 bytes, blue first. Throws UserError (data) for a picture
  /// that is empty or becomes so at a test scale.
  virtual std::vector<Detection> detect(const std::uint8_t* bgr, int height, int width) = 0;
};

/// How a detector looks: tables of the configuration.
struct DetectSpec {
  const Settings& sampler;  ///< its input and output sizes
  const Settings& detect;
  std::int64_t classes;
  std::string device;  ///< "cpu", "cuda:N"
};

}  // namespace flowtrain
