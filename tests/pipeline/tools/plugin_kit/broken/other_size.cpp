// Has a table of another size.
#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) {
  static ft_sampler_plugin made = broken::table(nullptr);
  made.struct_size -= 8;
  return &made;
}
