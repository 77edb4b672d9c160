#pragma once
// Why and when a run ends before its last iteration: what this process wants, and what all processes have agreed on.

#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>

#include "pipeline/engine/train/hook_calls.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "pipeline/engine/validation/agreement.h"
#include "pipeline/engine/validation/early_stop.h"
#include "stages/core/group.h"
#include "stages/model/compute.h"

namespace flowtrain {

class Interrupt;

/// How a run ended, or will end.
struct RunEnd {
  std::optional<int> signal = {};  ///< that interrupted it
  std::string stopped = {};        ///< why it ended early, for people; empty where it did not
  std::exception_ptr error = {};   ///< that ended it so, all being saved; null where none did

  explicit operator bool() const { return signal || !stopped.empty() || error; }
};

/// Flag::snapshot_failed of rank 0 also carries whether it wants a snapshot after the step. One flag for both: flags
/// travel behind gradients, and with another length of these several processes would round sums otherwise.
struct SnapshotWords {
  bool failed = false, wanted = false;

  explicit SnapshotWords(const StepFlags& all);
  SnapshotWords(bool has_failed, bool wants) : failed(has_failed), wanted(wants) {}
  double flag() const { return (failed ? 1 : 0) + (wanted ? 2 : 0); }
};

/// The flags of one run. Processes that train together act on a flag only once all know of it, which is when the
/// flags of a step have been summed; a process alone is a group of one, and knows at once. This class, the end of a
/// validation and the gathering of samples and times are all that asks how many there are.
struct RunFlags {
  Group& group;
  const Interrupt* interrupt;  ///< may be null, as may `snapshots`
  SnapshotBranch* snapshots;
  const EarlyStop& early_stop;
  HookCalls& hooks;
  const RunState& state;
  RunEnd end = {};
  Agreement agreement{group};   ///< on the end of a validation
  bool wants_snapshot = false;  ///< rank 0 asks for one after the step (Snapshots::wanted)

  /// The flags of this process in a step. `bad_samples`: how many it found in the step.
  StepFlags own(std::size_t bad_samples, bool step_failed) const;
  /// Whether other processes' flags come back with the step's statistics, which are then to be read.
  bool travel() const { return group.size() > 1; }
  /// The flags of all processes: `stats` brings them where they travel.
  StepFlags of_all(const StepFlags& own, const std::optional<StepStats>& stats) const {
    return travel() ? stats.value().flags : own;
  }

  /// Ends the run where a flag says so. Throws UserError(snapshot) where a snapshot could not be written, and the run
  /// is to stop then.
  void apply(const StepFlags& all);
  /// Between iterations, alone: applies at once what a signal, a hook or a snapshot has to say, where no other process
  /// has to be told. Not the time limit, which is looked at once an iteration.
  void look_again();
  /// Likewise at any time, for a signal alone; and for a hook alone.
  void look_for_signal();
  void look_at_hooks();
  /// The run ends after the last whole iteration; whoever started it throws the error then. Hooks are told.
  void stop_with_error(const std::exception_ptr& error);
  /// Ends the run early, unless something else has.
  void stop(const std::string& reason);

  /// Asked before and after each batch of an inline validation, equally often by all ranks, which get the same answer:
  /// whether it goes on (Agreement).
  bool validation_goes_on();
  /// Set by a signal where nobody has to be told of it: from then on nobody waits for a server that is away. Processes
  /// that train together must all get to the iteration that they agree on.
  std::stop_token cancels_reads() const;

 private:
  bool asked_to_end() const;
};

}  // namespace flowtrain
