// Is built for another version of the interface.
#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin(void) {
  static ft_sampler_plugin made = broken::table(nullptr);
  made.abi = FT_SAMPLER_ABI + 1;
  return &made;
}
