#pragma once
// Writes pictures with the boxes that a detector found, or as a classifier got them.

#include <cstdint>
#include <filesystem>
#include <string>

#include "pipeline/inference/predict/prediction.h"

namespace flowtrain {

class BoxesFolder {
 public:
  /// Makes the folder. Throws UserError(snapshot) if that fails.
  explicit BoxesFolder(std::filesystem::path folder);
  /// Writes a PNG with the boxes drawn, or the first picture of a classifier's input, and returns its path:
  /// "000001-NAME.png", numbered in the order of calls, since inputs of different folders may share a name; returns
  /// nothing if there is no picture. Throws UserError(snapshot) where it cannot be written.
  std::string write(const Prediction& prediction);

 private:
  const std::filesystem::path folder_;
  std::uint64_t written_ = 0;
};

}  // namespace flowtrain
