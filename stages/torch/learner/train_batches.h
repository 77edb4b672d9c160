#pragma once
// What makes tensors of training batches.

#include <memory>

#include "stages/learner_spec.h"
#include "stages/torch/batch.h"

namespace flowtrain {

/// As the spec has it, for slabs of a layout.
std::unique_ptr<BatchAdapter> make_train_batches(const LearnerSpec& spec, const SlabLayout& layout);

}  // namespace flowtrain
