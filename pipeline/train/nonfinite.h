#pragma once
// The numerics guard's rules: what a run does about a loss or gradients that are not finite.

#include <cstdint>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "stages/compute.h"

namespace flowtrain {

class Settings;

/// `train.nonfinite` and its companions.
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

  /// From [train].
  static NonFinitePolicy from(const Settings& train);
};

/// Gradients that overflow under the loss's scale do not count: the learner deals with them.
bool is_finite(const StepStats& result);

/// "the loss is nan", of a result that is not.
std::string what_is_not_finite(const StepStats& result);

/// The error that ends the run: names the iteration, what is not finite, and `samples`, the ids of its last batch.
/// `why`, when given, says why the run stops all the same: "10 in a row". The hint says which command finds out more of
/// `run`.
UserError nonfinite_error(std::uint64_t iteration, const std::vector<std::uint64_t>& samples, const StepStats& result,
                          const std::string& run, const std::string& why = {});

}  // namespace flowtrain
