// Opens a file for each sampler and closes none.
#include <fcntl.h>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int create(const ft_create* input, void** self, char* error, size_t error_size) {
  if (::open("/dev/null", O_RDONLY) < 0) return broken::fail(error, error_size, "no file can be opened");
  return broken::create(input, self, error, error_size);
}

static int sample(void*, const ft_record* record, ft_random*, uint8_t* const* rows, const int64_t*, char*, size_t) {
  broken::good(record, rows[0]);
  return 0;
}

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) {
  static ft_sampler_plugin made = broken::table(sample);
  made.create = create;
  return &made;
}
