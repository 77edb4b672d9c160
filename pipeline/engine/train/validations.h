#pragma once
// The validations of a run. Training waits for an inline validation. An async one takes effect just before the next
// one, or at the end of the run: this iteration does not depend on how long the validation took, so all runs are equal.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/errors/policies.h"
#include "pipeline/engine/graph/outlet.h"
#include "pipeline/engine/train/hyper_adjuster.h"
#include "pipeline/engine/train/logger.h"
#include "pipeline/engine/train/nonfinite_handler.h"
#include "pipeline/engine/train/reports.h"
#include "pipeline/engine/train/run_flags.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/snapshots.h"
#include "pipeline/engine/validation/async_validation.h"
#include "pipeline/engine/validation/best.h"
#include "pipeline/engine/validation/early_stop.h"
#include "pipeline/engine/validation/validation.h"

namespace flowtrain {

/// The rules for what follows from validations.
struct ValidationRules {
  std::vector<BestRule> best = BestRule::by_loss();  ///< Decide which snapshots are best; users see the first rule's.
  EarlyStop early_stop = {};
  ErrorPolicy errors = {};  ///< val.on_error
  bool averages = false;    ///< Validation sees averaged weights, if there are any.
};

/// The parts of a run that validate.
struct ValidationParts {
  std::vector<ValidationSet> sets = {};  ///< The first is that of [data.val].
  ValidationRules rules = {};
  Outlet<AsyncValidation> async = {};    ///< Leads nowhere if training waits for validations.
  ValidationReplica* replica = nullptr;  ///< The copy of the net for `async`; null without it.
};

/// The parts of the run that a validation uses or changes; everything outlives it.
struct ValidationContext {
  Learner& learner;
  Group& group;
  HookCalls& hooks;
  RunFlags& flags;
  HyperAdjuster& hyper;
  NonFiniteHandler& nonfinite;
  Snapshots& snapshots;
  const Reports& reports;
  const Loggers& loggers;
};

/// Runs one validation after the other.
class Validations {
 public:
  Validations(ValidationParts parts, const ValidationContext& context, ValidationsState& state);

  void start_loaders();
  void stop_loaders();
  /// Lets reads of the loaders that wait for a server fail from now on. Any thread may call.
  void cancel_reads() const;

  /// Sets whether the validation of the iteration that was just finished is `planned`, before it begins.
  void expect(bool planned) { state_.due = planned && !sets_.empty(); }
  /// Returns whether the validation of the last iteration is still to be made.
  bool due() const { return state_.due; }
  /// Returns why the rule for an early stop ends the run; empty if it does not.
  std::string early_stop_reason() const { return rules_.early_stop.reason(state_.early_stop); }

  /// Restarts an async validation that a signal has ended.
  void resume();
  /// Validates the iteration that was just finished, which may be the `last` one of the run.
  void run(std::uint64_t iteration, bool last);
  /// Shows and ranks an async validation that is over. Training does not depend on that, so other ranks may do so at
  /// another iteration.
  void collect_if_over();
  /// Waits for an async validation that is under way, then shows and ranks it.
  void collect_if_under_way();
  /// Ends an async validation because a signal ends the run. A resumed run restarts it.
  void give_up();
  /// Uses the metrics of an async validation for training. Returns false if a signal came before the metrics.
  bool apply_pending();

 private:
  struct Ranks {
    std::vector<std::string> links = {};  ///< The links of the rules by which it is the best.
    bool keeps = false;                   ///< A rule keeps its snapshot.
  };

  void run_inline(std::uint64_t iteration);
  void launch(std::uint64_t iteration);
  void collect();
  void apply(const Scalars& scalars, const Scalars& training);
  bool is_left_out(const Validated& found) const;
  void on_error(std::uint64_t iteration, const std::exception_ptr& error);
  void count();
  Ranks record(std::uint64_t iteration, Validated& found, const Scalars& training);
  Scalars training_values() const;
  void warn_of_unknown(const Scalars& training);

  std::vector<ValidationSet> sets_;
  const ValidationRules rules_;
  AsyncValidation* async_;  // null if validation is inline
  ValidationReplica* replica_;
  const ValidationContext run_;
  ValidationsState& state_;
  bool compared_training_ = false;
};

}  // namespace flowtrain
