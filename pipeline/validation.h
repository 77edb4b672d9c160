#pragma once
// One validation: some batches of the validation line, in eval mode.

#include <cstdint>
#include <optional>

#include "pipeline/detection.h"
#include "pipeline/graph.h"
#include "stages/bad_samples.h"
#include "stages/compute.h"
#include "stages/group.h"

namespace flowtrain {

class Interrupt;

/// Takes `batches` batches from the line and returns the learner's figures over them; the learner is in train mode
/// afterwards. Bad samples are entered as of `iteration`. Nothing when `interrupt` (may be null) asked for an end
/// meanwhile; a group's processes validate to the end, as all must leave at the same batch. Rethrows the error of a bad
/// batch. `detection` (may be null): the learner's detector looks at the same records, and its figures follow.
std::optional<Figures> run_validation(Line& line, Learner& learner, BadSamples& bad, std::uint64_t iteration,
                                      std::uint64_t batches, const Interrupt* interrupt, Group& group = solo_group(),
                                      const DetectionMetrics* detection = nullptr);

}  // namespace flowtrain
