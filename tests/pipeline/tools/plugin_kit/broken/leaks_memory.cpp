// Allocates in each call and frees nothing.
#include <cstdlib>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static void* volatile kept;

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  broken::good(record, rows[0]);
  kept = std::malloc(100);
  return 0;
}

BROKEN_PLUGIN(sample)
