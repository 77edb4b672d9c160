// Declares a field with an axis of size 0.
#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static uint32_t fields(void*, ft_field* out, uint32_t) {
  out[0] = {"value", FT_U8, 2, {8, 0}, 0, {}, {}, 0, 0};
  return 1;
}

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  broken::good(record, rows[0]);
  return 0;
}

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) {
  static ft_sampler_plugin made = broken::table(sample);
  made.fields = fields;
  return &made;
}
