#pragma once
// The built-in data sets: each file has a function that returns its entry, and a line in list.h.

#include "sampling/dataset.h"

#include "sampling/core/registry.h"

namespace flowtrain {

using DatasetEntry = Registry<Dataset, DatasetInput>::Item;

#define FLOWTRAIN_ENTRY(name) DatasetEntry name##_entry();
#include "sampling/datasets/list.h"
#undef FLOWTRAIN_ENTRY

}  // namespace flowtrain
