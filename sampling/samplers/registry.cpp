#include "sampling/samplers/entries.h"

namespace flowtrain {

Registry<Sampler, SamplerInput>& samplers() {
  static Registry<Sampler, SamplerInput> registry = [] {
    Registry<Sampler, SamplerInput> all("sampler");
#define FLOWTRAIN_ENTRY(name) all.add(name##_entry());
#include "sampling/samplers/list.h"
#undef FLOWTRAIN_ENTRY
    return all;
  }();
  return registry;
}

}  // namespace flowtrain
