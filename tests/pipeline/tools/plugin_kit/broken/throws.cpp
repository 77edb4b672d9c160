// Lets an exception out into C.
#include <stdexcept>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record*, ft_random*, uint8_t* const*, const int64_t*, char*, size_t) {
  throw std::runtime_error("out of the plugin");
}

BROKEN_PLUGIN(sample)
