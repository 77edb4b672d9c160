#include <cmath>
#include <sstream>

#include "sampling/datasets/coco_instances.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(coco) {
  std::istringstream stream(std::string(reinterpret_cast<const char*>(input.data()), input.size()));
  const auto all = flowtrain::read_coco_instances(stream, "a.json");
  flowtrain::fuzz::require(all.file_names.size() == all.images.size(), "each image has a name");
  for (const auto& each : all.annotations) {
    flowtrain::fuzz::require(each.image < all.images.size() && each.category < all.categories.size(),
                             "image and category are there");
    flowtrain::fuzz::require(std::isfinite(each.x + each.y) && each.width >= 0 && each.height >= 0 &&
                                 std::isfinite(each.width + each.height + each.area),
                             "a box has a place and a size");
  }
}
