#pragma once
// The second net of overlapped validation.

#include <memory>

#include "nets/tensors.h"
#include "stages/learner_spec.h"

namespace flowtrain {

/// A net as the spec's learner has it, for one process alone. `source`: the tensors that take() copies, named and
/// ordered as the net's parameters and then its buffers; they stay where they are. Who measures has a stream of its own
/// on a GPU, and on a CPU as many threads as compute has.
std::unique_ptr<NetCopy> make_net_copy(const LearnerSpec& spec, const nets::NamedTensors& source);

}  // namespace flowtrain
