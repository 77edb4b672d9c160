// Draws from the clock's seconds, as of the first call.
#include <ctime>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  static const std::time_t start = std::time(nullptr);
  broken::good(record, rows[0]);
  rows[0][0] = static_cast<uint8_t>(start);
  return 0;
}

BROKEN_PLUGIN(sample)
