// Writes one byte past its row.
#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  broken::good(record, rows[0]);
  rows[0][broken::value_bytes] = 1;
  return 0;
}

BROKEN_PLUGIN(sample)
