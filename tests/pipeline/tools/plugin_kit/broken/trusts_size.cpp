// Takes for granted that records have their usual size.
#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  std::memcpy(rows[0], record->bytes, broken::value_bytes);
  return 0;
}

BROKEN_PLUGIN(sample)
