// Draws random numbers in validation, too.
#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record* record, ft_random* random, uint8_t* const* rows, const int64_t*, char*,
                  size_t) {
  broken::good(record, rows[0]);
  rows[0][0] = static_cast<uint8_t>(random->next(random->state));
  return 0;
}

BROKEN_PLUGIN(sample)
