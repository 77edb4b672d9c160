#pragma once
// Decides when and why a run ends before its last iteration.

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

/// The way in which a run ended, or will end.
struct RunEnd {
  std::optional<int> signal = {};  ///< The signal that interrupted the run.
  std::string stopped = {};        ///< The reason why it ended early, for people; empty if it did not.
  std::exception_ptr error = {};   ///< The error that ended it after everything was saved; may be null.

  explicit operator bool() const { return signal || !stopped.empty() || error; }
};

/// The value of Flag::snapshot_failed, which also carries whether rank 0 wants a snapshot after the step. One flag
/// serves for both: flags travel behind the gradients, and more of them would change how several processes round sums.
struct SnapshotFlags {
  bool failed = false, wanted = false;

  explicit SnapshotFlags(const StepFlags& all);
  SnapshotFlags(bool has_failed, bool wants) : failed(has_failed), wanted(wants) {}
  double value() const { return (failed ? 1 : 0) + (wanted ? 2 : 0); }
};

/// Decides whether the run ends. Processes that train together act on a flag once all of them know it, which is when
/// the flags of a step have been summed; a single process acts at once.
class RunFlags {
 public:
  /// `interrupt` and `snapshots` may be null. Everything outlives this object.
  RunFlags(Group& group, const Interrupt* interrupt, SnapshotBranch* snapshots, const EarlyStop& early_stop,
           HookCalls& hooks, const RunProgress& progress)
      : group_(group),
        interrupt_(interrupt),
        snapshots_(snapshots),
        early_stop_(early_stop),
        hooks_(hooks),
        progress_(progress) {}

  /// Returns how the run ends; it converts to false while the run goes on.
  const RunEnd& end() const { return end_; }
  /// Looks at the flags of a single process, then returns whether the run goes on.
  bool goes_on() {
    look_again();
    return !end_;
  }

  /// Returns the flags of this process in a step, in which it found so many `bad_samples`.
  StepFlags own(std::size_t bad_samples, bool step_failed) const;
  /// Returns whether the step's statistics bring the flags of other processes, so that they must be read.
  bool travel() const { return group_.size() > 1; }
  /// Returns the flags of all processes; `stats` has them if they travel.
  StepFlags of_all(const StepFlags& own, const std::optional<StepStats>& stats) const {
    return travel() ? stats.value().flags : own;
  }
  /// Sets whether rank 0 asks for a snapshot after the step (Snapshots::wanted).
  void want_snapshot(bool wanted) { wants_snapshot_ = wanted; }
  bool wants_snapshot() const { return wants_snapshot_; }

  /// Ends the run if a flag says so. Throws UserError(snapshot) if a snapshot could not be written and the run is to
  /// stop then.
  void apply(const StepFlags& all);
  /// Applies the signal, the hooks' wish and the state of snapshots between iterations, if this process is alone. It
  /// omits the time limit, which counts once an iteration.
  void look_again();
  /// Applies a signal at any time, if this process is alone.
  void look_for_signal();
  /// Applies the hooks' wish at any time, if this process is alone.
  void look_at_hooks();
  /// Ends the run if it has trained as long as it may.
  void look_at_time();
  /// Ends the run after the last whole iteration and tells the hooks. The caller of the run throws the error then.
  void stop_with_error(const std::exception_ptr& error);
  /// Ends the run early, unless it ends for another reason, or `reason` is empty.
  void stop(const std::string& reason);
  /// Ends the run by a signal that all processes know of.
  void interrupt_by(std::optional<int> signal) { end_.signal = signal; }

  /// Returns whether an inline validation goes on. All ranks ask equally often, before and after each batch, and get
  /// the same answer.
  bool validation_goes_on();
  /// Returns a token that a signal stops if this process is alone; reads of a server that does not answer then end.
  /// Processes that train together must all get to the iteration that they agree on.
  std::stop_token cancels_reads() const;

 private:
  bool asked_to_end() const;

  Group& group_;
  const Interrupt* interrupt_;
  SnapshotBranch* snapshots_;
  const EarlyStop& early_stop_;
  HookCalls& hooks_;
  const RunProgress& progress_;
  RunEnd end_;
  Agreement agreement_{group_};  // on the end of a validation
  bool wants_snapshot_ = false;
};

}  // namespace flowtrain
