#include "sampling/datasets/voc_annotation.h"
#include "tests/fuzz/support/fuzz_target.h"

FUZZ_TARGET(voc) {
  const auto annotation = flowtrain::parse_voc(input, "a.xml");
  for (const auto& object : annotation.objects)
    flowtrain::fuzz::require(object.box.x0 < object.box.x1 && object.box.y0 < object.box.y1, "a box has an area");
}
