#include "sampling/samplers/entries.h"

namespace flowtrain {

Registry<Sampler, SamplerInput>& samplers() {
  static Registry<Sampler, SamplerInput> registry = [] {
    Registry<Sampler, SamplerInput> all("sampler");
    for (auto entry : {classify_entry, copy_entry, cornernet_entry, cornernet_saccade_entry}) all.add(entry());
    return all;
  }();
  return registry;
}

}  // namespace flowtrain
