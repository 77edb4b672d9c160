// Draws from rand() instead of the random numbers that it gets.
#include <cstdlib>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  broken::good(record, rows[0]);
  rows[0][0] = static_cast<uint8_t>(std::rand());
  return 0;
}

BROKEN_PLUGIN(sample)
