#pragma once
// The built-in transforms: each file has a function that returns its entry, and a line in list.h.

#include "sampling/transform.h"

#include "sampling/core/registry.h"

namespace flowtrain {

using TransformEntry = Registry<Transform, TransformInput>::Item;

#define FLOWTRAIN_ENTRY(name) TransformEntry name##_transform_entry();
#include "sampling/transforms/list.h"
#undef FLOWTRAIN_ENTRY

}  // namespace flowtrain
