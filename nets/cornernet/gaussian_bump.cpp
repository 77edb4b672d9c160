#include "nets/cornernet/gaussian_bump.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace flowtrain::nets {
namespace {

/// Calls visit(x, y, pointer to the map's value) for the cells of the square around (x, y) that lie on the map.
template <class Visit>
void for_square(const HeatMap& map, int x, int y, int radius, Visit visit) {
  const int left = std::max(x - radius, 0), right = std::min(x + radius, map.width - 1);
  const int top = std::max(y - radius, 0), bottom = std::min(y + radius, map.height - 1);
  for (int row = top; row <= bottom; ++row)
    for (int column = left; column <= right; ++column)
      visit(column, row, map.values + static_cast<std::ptrdiff_t>(row) * map.width + column);
}

}  // namespace

void gaussian_profile(int radius, std::vector<double>& profile) {
  const double sigma = (2 * radius + 1) / 6.0;
  profile.clear();
  for (int d = 0; d <= radius; ++d) profile.push_back(std::exp(-static_cast<double>(d) * d / (2 * sigma * sigma)));
}

void draw_gaussian(const HeatMap& map, int x, int y, int radius) {
  thread_local std::vector<double> profile;
  gaussian_profile(radius, profile);
  for_square(map, x, y, radius, [&](int column, int row, float* value) {
    const double down = profile[static_cast<std::size_t>(std::abs(row - y))];
    const double across = profile[static_cast<std::size_t>(std::abs(column - x))];
    *value = std::max(*value, static_cast<float>(down * across));
  });
}

void fill_square(const HeatMap& map, int x, int y, int radius, float value) {
  for_square(map, x, y, radius, [&](int, int, float* cell) { *cell = value; });
}

}  // namespace flowtrain::nets
