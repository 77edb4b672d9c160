#include "sampling/codecs/png.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(png) {
  flowtrain::Image image;
  flowtrain::decode_png(input, image);
}
