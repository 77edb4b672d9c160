#pragma once
// Policies for values that are not finite (train.nonfinite), and for survivable errors (train.on_error, val.on_error).

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "stages/core/group.h"
#include "stages/core/table_keys.h"
#include "stages/model/compute.h"

namespace flowtrain {

class Settings;

/// The policy of train.nonfinite and its further keys.
struct NonFinitePolicy {
  enum class Action {
    stop,      ///< the run ends before the parameters are touched
    skip,      ///< leaves that update out
    rollback,  ///< the weights go back to an earlier snapshot, the data goes on, the learning rate is lowered
  };
  Action action = Action::stop;
  std::uint64_t most = 10;     ///< limit in a row (skip) or in all (rollback); one more stops the run
  double rollback_lr = 0.5;    ///< factor on the learning rate at each rollback
  std::size_t targets = 3;     ///< number of snapshots to go back to
  std::string run = "CONFIG";  ///< name of the run in a command: its folder, if it has one
  bool has_schedules = false;  ///< the configuration has [[schedule]]s, which exclude [lr]

  /// Reads [train].
  static NonFinitePolicy from(const TrainKeys& train);
};

/// Gradients that overflow under the loss's scale do not count: the learner handles them.
bool is_finite(const StepStats& result);

/// Returns "the loss is nan"; call it only for a result that is not finite.
std::string what_is_not_finite(const StepStats& result);

/// Makes the error that ends the run: it names the iteration, the value that is not finite, and `samples`, the ids of
/// its last batch. `why`, if given, says why the policy did not help: "10 in a row". The hint names the command that
/// finds out more about the run, and what can be tried beside the policy.
UserError nonfinite_error(std::uint64_t iteration, const std::vector<std::uint64_t>& samples, const StepStats& result,
                          const NonFinitePolicy& policy, const std::string& why = {});

/// train.on_error, val.on_error.
struct ErrorPolicy {
  enum class Action {
    stop,  ///< the run ends with it
    save,  ///< the run ends in good order: with a snapshot, run_end and result.json
    skip,  ///< the iteration's update, or the validation, is left out
  };
  Action action = Action::stop;
  std::uint64_t most = 0;  ///< limit of left-out updates in a row; one more ends the run

  /// Throws UserError(usage) for actions that several `processes` cannot take, because those without an error would
  /// wait for the one that had it: "save", and leaving an update out if forward exchanges data (dist.sync_batch_norm).
  static ErrorPolicy from(const TrainKeys& train, const Settings& dist, int processes);
  static ErrorPolicy from(const ValKeys& val);
};

/// Returns whether other batches may succeed after this error. It is false if the host has no memory left, for errors
/// of hooks, disks and other processes, and for internal errors.
bool is_survivable(const std::exception& error);

/// Returns the first line of the error's message; LibTorch adds a stack trace below it.
std::string summary_of(const std::exception_ptr& error);

/// Logs a warning that all ranks know; only rank 0 logs it.
void warn_once(const Group& group, const std::string& text);

}  // namespace flowtrain
