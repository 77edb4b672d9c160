#pragma once
// What a run does about values that are not finite (train.nonfinite), and about an error that it could go on after
// (train.on_error, val.on_error).

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

/// train.nonfinite, and the keys that belong to it.
struct NonFinitePolicy {
  enum class Action {
    stop,      ///< the run ends before the parameters are touched
    skip,      ///< that update is left out
    rollback,  ///< the weights go back to an earlier snapshot, the data goes on, the learning rate is lowered
  };
  Action action = Action::stop;
  std::uint64_t most = 10;     ///< in a row (skip) or in all (rollback); one more stops the run
  double rollback_lr = 0.5;    ///< factor of each rollback
  std::size_t targets = 3;     ///< snapshots that are there to go back to
  std::string run = "CONFIG";  ///< how a command names the run: its folder, where it has one

  static NonFinitePolicy from(const TrainKeys& train);
};

/// Gradients that overflow under the loss's scale do not count: the learner deals with them.
bool is_finite(const StepStats& result);

/// "the loss is nan"; call it only for a result that is not finite.
std::string what_is_not_finite(const StepStats& result);

/// The error that ends the run: names the iteration, what is not finite, and `samples`, the ids of its last batch.
/// `why`, when given, says why the run stops all the same: "10 in a row". The hint says which command finds out more of
/// `run`.
UserError nonfinite_error(std::uint64_t iteration, const std::vector<std::uint64_t>& samples, const StepStats& result,
                          const std::string& run, const std::string& why = {});

/// train.on_error, val.on_error.
struct ErrorPolicy {
  enum class Action {
    stop,  ///< the run ends with it
    save,  ///< likewise, but in good order: with a snapshot, run_end and result.json
    skip,  ///< the iteration's update, or the validation, is left out
  };
  Action action = Action::stop;
  std::uint64_t most = 0;  ///< updates left out in a row; one more ends the run

  /// Throws UserError(usage) for actions that several `processes` cannot take, because those without an error would
  /// wait for the one that had it: "save", and leaving an update out if forward exchanges data (dist.sync_batch_norm).
  static ErrorPolicy from(const TrainKeys& train, const Settings& dist, int processes);
  static ErrorPolicy from(const ValKeys& val);
};

/// Whether other batches may succeed after this error. False if the host has no memory left, for errors of hooks, disks
/// and other processes, and for faults of our own.
bool is_survivable(const std::exception& error);

/// The first line of the error's message; LibTorch adds a stack trace below it.
std::string summary_of(const std::exception_ptr& error);

/// A warning about what all ranks know: only rank 0 logs it.
void warn_once(const Group& group, const std::string& text);

}  // namespace flowtrain
