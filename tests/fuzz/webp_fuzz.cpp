#include "tests/fuzz/support/picture_target.h"

FUZZ_TARGET(webp) { read_picture(flowtrain::open_webp(input, flowtrain::Exif::apply), input); }
