// A plugin in plain C style that forgot to fill in its functions.
#include "sampling/plugin_abi.h"

extern "C" const ft_sampler_plugin* flowtrain_sampler_plugin() {
  static ft_sampler_plugin table{};
  table.abi = FT_SAMPLER_ABI;
  table.struct_size = sizeof table;
  table.name = "empty_table";
  table.help = "nothing";
  return &table;
}
