#pragma once
// Async validation measures a second net.

#include <memory>

#include "nets/tensors.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Makes a net like that of the spec's learner. take() copies `parameters` and `buffers`, which are named and ordered
/// as the net's and stay where they are. The measuring thread has a group beside the spec's, random numbers of its own,
/// a stream of its own on a GPU, and on a CPU as many threads as compute has. A collective.
std::unique_ptr<ValidationReplica> make_validation_replica(const LearnerSpec& spec,
                                                           const nets::NamedTensors& parameters,
                                                           const nets::NamedTensors& buffers);

}  // namespace flowtrain
