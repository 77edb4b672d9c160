// Makes other rows in blocks: it takes the first record for all.
#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  broken::good(record, rows[0]);
  return 0;
}

static int sample_rows(void*, const ft_record* const* records, uint64_t count, uint8_t* const* first, const int64_t*,
                       char*, size_t) {
  for (uint64_t i = 0; i < count; ++i) broken::good(records[0], first[0] + i * broken::value_bytes);
  return 0;
}

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) {
  static ft_sampler_plugin made = broken::table(sample);
  made.sample_rows = sample_rows;
  return &made;
}
