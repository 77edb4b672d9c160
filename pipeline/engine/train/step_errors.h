#pragma once
// train.on_error: handles errors in computing an iteration.

#include <cstdint>
#include <exception>
#include <functional>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/train/run_flags.h"
#include "pipeline/engine/train/run_state.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Computes micro-batches, and remembers an error of the iteration under way. Such an error has touched no parameter:
/// the update can be left out, or the iteration as a whole.
struct StepErrors {
  const ErrorPolicy policy;
  Learner& learner;
  RunFlags& flags;
  const Group& group;
  RunState& state;
  std::exception_ptr failure = {};  ///< of this process, in the iteration under way

  /// Forward and backward of a micro-batch, unless an earlier one of the iteration has failed; `last` of the iteration:
  /// this process then contributes zeros. `own` gives its flags. Throws errors that the policy does not let pass.
  /// False: the run ends with the error, and the iteration, which was discarded, is not to be finished.
  bool forward_backward(Slab& slab, bool last, const std::function<StepFlags()>& own);
  /// This process has failed in the iteration under way.
  bool failed() const { return failure != nullptr; }
  /// At the iteration's end, where a process has failed: all leave the update out. Throws after too many in a row.
  void skip_update(std::uint64_t iteration);
};

}  // namespace flowtrain
