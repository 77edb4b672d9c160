// Measures one more each time.
#include <atomic>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static std::atomic<int64_t> calls;

static uint32_t fields(void*, ft_field* out, uint32_t) {
  out[0] = {"value", FT_U8, 1, {broken::value_bytes}, 0, {}, {}, 1, 0};
  return 1;
}

static int measure(void*, const ft_record*, int64_t* extents, char*, size_t) {
  extents[0] = ++calls % static_cast<int64_t>(broken::value_bytes);
  return 0;
}

static int sample(void*, const ft_record*, ft_random*, uint8_t* const* rows, const int64_t* extents, char*, size_t) {
  std::memset(rows[0], 1, static_cast<size_t>(extents[0]));
  return 0;
}

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) {
  static ft_sampler_plugin made = broken::table(sample);
  made.fields = fields;
  made.measure = measure;
  return &made;
}
