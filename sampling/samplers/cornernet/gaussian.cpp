#include "sampling/samplers/cornernet/gaussian.h"

#include <algorithm>
#include <cmath>

namespace flowtrain {

double gaussian_radius(double height, double width, double min_overlap) {
  const double o = min_overlap, sum = height + width, area = height * width;
  // Each case is a quadratic equation in the radius. One corner moves in and the other out:
  const double shifted = (sum - std::sqrt(sum * sum - 4 * area * (1 - o) / (1 + o))) / 2;
  // Both move in:
  const double inside = (2 * sum - std::sqrt(4 * sum * sum - 16 * (1 - o) * area)) / 8;
  // Both move out:
  const double outside = (-2 * o * sum + std::sqrt(4 * o * o * sum * sum + 16 * o * (1 - o) * area)) / (8 * o);
  return std::min({shifted, inside, outside});
}

}  // namespace flowtrain
