#pragma once
// The validations of a run: inline, where training waits, or overlapped. What an overlapped one has shown takes effect
// just before the next one, or at the end: an iteration that does not depend on how long it took, so that each run is
// the same.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/train/hyper_adjuster.h"
#include "pipeline/engine/train/judge.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/train/run_flags.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/snapshots.h"
#include "pipeline/engine/validation/best.h"
#include "pipeline/engine/validation/early_stop.h"
#include "pipeline/engine/validation/overlapped_validation.h"
#include "pipeline/engine/validation/validation.h"

namespace flowtrain {

/// The rules for validations.
struct ValidationRules {
  std::vector<BestRule> best;  ///< decide which snapshots are best; users are told of the first rule's
  EarlyStop early_stop;
  ErrorPolicy errors;     ///< val.on_error
  bool averages = false;  ///< validation sees averaged weights, where there are any
};

/// Parts of the run that a validation uses or changes; everything outlives it.
struct ValidationContext {
  Learner& learner;
  Group& group;
  HookCalls& hooks;
  RunFlags& flags;
  HyperAdjuster& hyper;
  Judge& judge;
  Snapshots& snapshots;
  const Loggers& loggers;
  RunState& state;
};

/// One validation after the other.
class Validations {
 public:
  /// `sets`: [data.val]'s first. `beside` (may be null) measures `replica`; without it, training waits for validations.
  Validations(std::vector<ValidationSet> sets, ValidationRules rules, OverlappedValidation* beside,
              ValidationReplica* replica, const ValidationContext& context);

  void start_loaders();
  void stop_loaders();
  /// From now on, reads of the loaders that wait for a server that is away fail. Any thread may call.
  void cancel_reads() const;
  bool any() const { return !sets_.empty(); }

  /// Starts an overlapped validation again that a signal ended.
  void resume();
  /// Validates the iteration that was just finished; `last` of the run.
  void run(std::uint64_t iteration, bool last);
  /// Shows and ranks an overlapped validation that is over; nothing that training depends on, as other ranks may do so
  /// at another iteration.
  void collect_if_over();
  /// Waits for an overlapped validation that is under way, then does the same.
  void collect_if_under_way();
  /// A signal ends the run: one that goes on later begins the validation anew.
  void give_up();
  /// Uses the metrics of an overlapped validation for training. False: a signal came before the metrics.
  bool take_in();

 private:
  struct Ranks {
    std::vector<std::string> links = {};  ///< of the rules that it is the best of
    bool keeps = false;                   ///< whether a rule is to keep its snapshot
  };

  void run_inline(std::uint64_t iteration);
  void launch(std::uint64_t iteration);
  void collect();
  void decide(const Scalars& scalars, const Scalars& training);
  bool is_left_out(const Validated& found) const;
  void on_error(std::uint64_t iteration, const std::exception_ptr& error);
  void count();
  Ranks record(std::uint64_t iteration, Validated& found, const Scalars& training);
  Scalars training_values() const;
  void warn_of_unknown(const Scalars& training);

  std::vector<ValidationSet> sets_;
  const ValidationRules rules_;
  OverlappedValidation* overlapped_;  // null where validation is inline
  ValidationReplica* replica_;
  ValidationContext run_;
  bool compared_training_ = false;
};

}  // namespace flowtrain
