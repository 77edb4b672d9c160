#pragma once
// The distribution of a tensor's values, for display.histograms.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// Counts a tensor's values in steps of equal width from `least` to `most`. Values that are not finite are left out,
/// and so is a tensor without finite values.
struct Histogram {
  std::string name;  ///< "weights/…" or "gradients/…", and the parameter's name
  double least = 0, most = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> counts;
};
using Histograms = std::vector<Histogram>;

}  // namespace flowtrain
