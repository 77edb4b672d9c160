// A plugin whose table has another size, as a foreign compiler setting would make it.
#include "sampling/plugin_abi.h"

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin() {
  static ft_sampler_plugin table{};
  table.abi = FT_SAMPLER_ABI;
  table.struct_size = sizeof table - 8;
  return &table;
}
