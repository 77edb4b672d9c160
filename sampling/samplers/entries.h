#pragma once
// The built-in samplers, one entry a file; registry.cpp lists them under their names.

#include "sampling/sampler.h"

namespace flowtrain {

using SamplerEntry = Registry<Sampler, SamplerInput>::Item;

SamplerEntry classify_entry();  ///< a picture and its class, augmented as usual
SamplerEntry copy_entry();      ///< the stored bytes as they are

}  // namespace flowtrain
