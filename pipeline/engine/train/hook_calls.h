#pragma once
// Calls the hooks of a run, with the context of each event.

#include <cstdint>

#include "pipeline/engine/train/run_state.h"
#include "stages/core/every.h"
#include "stages/core/group.h"
#include "stages/hooks/hooks.h"

namespace flowtrain {

/// Fills in the hooks' context, so that the callers need not know where the run is.
class HookCalls {
 public:
  /// Restores the hooks' states from `state`. `hooks` may be null: there are none. `epoch` is off if the run has no
  /// epochs.
  HookCalls(Hooks* hooks, const RunProgress& progress, HookState& state, const Group& group,
            std::uint64_t last_iteration, const Every& epoch);

  /// Calls the hooks of one event. Throws HookError.
  void operator()(HookEvent event, const Scalars& scalars = {});
  /// Calls epoch_begin if `iteration` is the first of its epoch, then iteration_begin. Hooks may change `hyper`.
  void begin_iteration(std::uint64_t iteration, std::vector<HyperParameters>& hyper);
  /// Calls iteration_end, then epoch_end if the iteration was the last of its epoch.
  void end_iteration(const Scalars& scalars);
  void on_exception(const std::exception& error);

  /// Returns why a hook wants the run to end; empty if no hook does.
  const std::string& stop_reason() const { return hooks_->context().stopped; }
  /// Returns the values that hooks have logged since Reports last cleared them, which it does after each iteration.
  Scalars& logged() { return hooks_->context().logged; }
  /// Writes the hooks' states into the run's state, for a snapshot.
  void save();

 private:
  Hooks none_;
  Hooks* hooks_;
  const RunProgress& progress_;
  HookState& state_;
  Every epoch_;
};

}  // namespace flowtrain
