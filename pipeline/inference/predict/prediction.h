#pragma once
// What a net says of one picture.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/codecs/image.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// A class, and its probability by softmax, 0 … 1.
struct ClassProbability {
  std::int64_t label;
  double probability;
};

/// The classes with the greatest logits, `count` at most, the greatest first; of equal ones the lower label.
std::vector<ClassProbability> most_probable(std::span<const float> logits, std::size_t count);

/// Of one input. Views last as long as the call that gets it.
struct Prediction {
  std::string name;                        ///< Input::name
  std::string damage = {};                 ///< why there is no prediction; empty otherwise
  std::vector<ClassProbability> top = {};  ///< of a classifier, the most probable first
  std::span<const float> logits = {};      ///< of a classifier, all
  std::vector<Detection> found = {};       ///< by a detector, in pixels of the picture; the best first
  const Image* bgr = nullptr;              ///< that a detector looked at, blue first
  std::string picture = {};                ///< the file with the boxes drawn, where there is one
};

}  // namespace flowtrain
