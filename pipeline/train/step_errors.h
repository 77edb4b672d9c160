#pragma once
// train.on_error: what becomes of an iteration when computing it fails in some process.

#include <cstdint>
#include <exception>
#include <functional>

#include "pipeline/train/on_error.h"
#include "pipeline/train/run_flags.h"
#include "pipeline/train/run_state.h"
#include "stages/compute.h"

namespace flowtrain {

/// Computes micro-batches, and remembers an error of the iteration under way. Such an error has touched no parameter:
/// the update can be left out, or the iteration as a whole.
class StepErrors {
 public:
  StepErrors(const ErrorPolicy& policy, Learner& learner, RunFlags& flags, const Group& group, RunState& state)
      : policy_(policy), learner_(learner), flags_(flags), group_(group), state_(state) {}

  /// Forward and backward of a micro-batch, unless an earlier one of the iteration has failed; `last` of the iteration:
  /// this process then contributes zeros. `own` gives its flags. Throws errors that the policy does not let pass.
  /// False: the run ends with the error, and the iteration, which was discarded, is not to be finished.
  bool forward_backward(Slab& slab, bool last, const std::function<StepFlags()>& own);
  /// This process has failed in the iteration under way.
  bool failed() const { return failure_ != nullptr; }
  /// At the iteration's end, where a process has failed: all leave the update out. Throws after too many in a row.
  void skip_update(std::uint64_t iteration);

 private:
  const ErrorPolicy policy_;
  Learner& learner_;
  RunFlags& flags_;
  const Group& group_;
  RunState& state_;
  std::exception_ptr failure_;  // of this process, in the iteration under way
};

}  // namespace flowtrain
