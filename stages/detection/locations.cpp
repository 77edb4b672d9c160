#include "stages/detection/locations.h"

#include <algorithm>
#include <cmath>

namespace flowtrain {

std::vector<Location> reference_locations(std::span<const ScoredBox> boxes) {
  std::vector<Location> locations;
  for (const ScoredBox& box : boxes) {
    if (!(box.score > 0.5F)) continue;
    const float side = std::max(box.x1 - box.x0, box.y1 - box.y0);
    const float wanted = side > 96 ? 192 : side > 32 ? 64 : 24;
    locations.push_back({(box.y0 + box.y1) / 2, (box.x0 + box.x1) / 2, wanted / side, 1});
  }
  return locations;
}

std::vector<Location> thin_out(std::span<const Location> locations, double distance) {
  std::vector<Location> left(locations.rbegin(), locations.rend()), chosen;
  std::stable_sort(left.begin(), left.end(), [](const Location& a, const Location& b) { return a.score > b.score; });
  while (!left.empty()) {
    const Location best = left.front();
    chosen.push_back(best);
    left.erase(left.begin());
    std::erase_if(left, [&](const Location& other) {
      const double apart = std::min(std::abs(best.y - other.y), std::abs(best.x - other.x));
      const double ratio = best.scale / other.scale;
      return apart <= distance / best.scale && ratio >= 0.8 && ratio <= 1.2;
    });
  }
  return chosen;
}

}  // namespace flowtrain
