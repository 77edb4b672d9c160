#include "sampling/codecs/jpeg.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(jpeg) {
  flowtrain::Image image;
  flowtrain::decode_jpeg(input, image);
}
