// Starts a thread for each sampler and ends none.
#include <unistd.h>

#include <thread>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int create(const ft_create* input, void** self, char* error, size_t error_size) {
  std::thread([] {
    while (true) ::pause();
  }).detach();
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
