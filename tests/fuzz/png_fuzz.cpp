#include "tests/fuzz/support/picture_target.h"

FUZZ_TARGET(png) { read_picture(flowtrain::open_png(input, flowtrain::Exif::apply), input); }
