#pragma once
// The built-in samplers; registry.cpp lists them under their names.

#include "sampling/sampler.h"

#include "sampling/core/registry.h"

namespace flowtrain {

using SamplerEntry = Registry<Sampler, SamplerInput>::Item;

SamplerEntry classify_entry();           ///< a picture and its class, augmented as usual
SamplerEntry copy_entry();               ///< the stored bytes as they are
SamplerEntry cornernet_entry();          ///< a picture and the corners of its boxes: CornerNet, CornerNet-Squeeze
SamplerEntry cornernet_saccade_entry();  ///< the same for CornerNet-Saccade, with attention maps

}  // namespace flowtrain
