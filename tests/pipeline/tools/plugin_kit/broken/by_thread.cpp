// Writes the number of the thread that calls it.
#include <atomic>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static std::atomic<uint8_t> threads;

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  static thread_local const uint8_t number = threads++;
  broken::good(record, rows[0]);
  rows[0][0] = number;
  return 0;
}

BROKEN_PLUGIN(sample)
