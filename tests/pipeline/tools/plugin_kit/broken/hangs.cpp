// Never returns.
#include <unistd.h>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record*, ft_random*, uint8_t* const*, const int64_t*, char*, size_t) {
  while (true) ::pause();
}

BROKEN_PLUGIN(sample)
