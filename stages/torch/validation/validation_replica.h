#pragma once
// The second net of overlapped validation.

#include <memory>

#include "nets/tensors.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// A net as the spec's learner has it. `parameters` and `buffers`: the tensors that take() copies, named and ordered as
/// the net's; they stay where they are. Who measures has a group beside the spec's, random numbers of its own, a stream
/// of its own on a GPU, and on a CPU as many threads as compute has. A collective.
std::unique_ptr<ValidationReplica> make_validation_replica(const LearnerSpec& spec,
                                                           const nets::NamedTensors& parameters,
                                                           const nets::NamedTensors& buffers);

}  // namespace flowtrain
