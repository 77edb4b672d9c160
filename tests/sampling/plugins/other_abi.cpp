// A plugin of a later interface.
#include "sampling/plugin_abi.h"

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin() {
  static ft_sampler_plugin table{};
  table.abi = FT_SAMPLER_ABI + 41;
  table.struct_size = sizeof table;
  return &table;
}
