#pragma once
// Handles errors in computing an iteration: train.on_error.

#include <cstdint>
#include <exception>
#include <functional>
#include <utility>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/train/run_flags.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Remembers an error of the current iteration. Such an error has not changed a parameter, so the update can be
/// skipped, or the iteration as a whole.
class StepErrors {
 public:
  /// `own` returns the flags of this process. `skipped_in_a_row` is kept in the run's state.
  StepErrors(const ErrorPolicy& policy, Learner& learner, RunFlags& flags, const Group& group,
             std::function<StepFlags()> own, std::uint64_t& skipped_in_a_row)
      : policy_(policy),
        learner_(learner),
        flags_(flags),
        group_(group),
        own_(std::move(own)),
        skipped_in_a_row_(skipped_in_a_row) {}

  /// Calls `compute`, which computes a micro-batch, unless an earlier one of the iteration has failed. After a failure
  /// this process contributes zeros with the `last` one. Throws errors that the policy does not let pass. Returns false
  /// if the run ends with the error; the iteration has been discarded then.
  template <class Compute>
  bool attempt(Slab& slab, bool last, const Compute& compute) try {
    if (!failure_)
      compute();
    else if (last)
      learner_.contribute_zeros(slab, own_());
    return true;
  } catch (const std::exception& error) {
    return on_error(error, slab, last);
  }
  /// Returns whether this process has failed in the current iteration.
  bool failed() const { return failure_ != nullptr; }
  /// Ends an iteration that is `skipped` because a process has failed. Throws after too many in a row.
  void end_iteration(std::uint64_t iteration, bool skipped);

 private:
  bool on_error(const std::exception& error, Slab& slab, bool last);

  const ErrorPolicy policy_;
  Learner& learner_;
  RunFlags& flags_;
  const Group& group_;
  const std::function<StepFlags()> own_;
  std::uint64_t& skipped_in_a_row_;
  std::exception_ptr failure_;
};

}  // namespace flowtrain
