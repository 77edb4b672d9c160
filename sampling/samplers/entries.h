#pragma once
// The built-in samplers: each file has a function that returns its entry, and a line in list.h.

#include "sampling/sampler.h"

#include "sampling/core/registry.h"

namespace flowtrain {

using SamplerEntry = Registry<Sampler, SamplerInput>::Item;

#define FLOWTRAIN_ENTRY(name) SamplerEntry name##_entry();
#include "sampling/samplers/list.h"
#undef FLOWTRAIN_ENTRY

}  // namespace flowtrain
