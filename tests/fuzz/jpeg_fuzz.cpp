#include "tests/fuzz/support/picture_target.h"

FUZZ_TARGET(jpeg) {
  read_picture(flowtrain::open_jpeg(input, flowtrain::Warnings::accept, flowtrain::Exif::apply), input);
}
