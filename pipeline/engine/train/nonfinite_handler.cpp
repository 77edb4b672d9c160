#include "pipeline/engine/train/nonfinite_handler.h"

#include <algorithm>
#include <vector>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"

namespace flowtrain {

UserError NonFiniteHandler::error(std::uint64_t iteration, const StepStats& stats, const std::string& why) const {
  return nonfinite_error(iteration, run_.samples.last_batch(), stats, policy_, why);
}

// Statistics are deferred only if a single process trains on a GPU and train.nonfinite is "stop".
void NonFiniteHandler::read_deferred(std::uint64_t iteration, const DeferredStats& deferred) {
  if (deferred.steps == 0) return;
  state_.count += deferred.overflows;
  state_.in_a_row = deferred.overflows == deferred.steps ? state_.in_a_row + deferred.overflows : deferred.in_a_row;
  if (deferred.nonfinite > 0) {
    StepStats then;
    then.loss = deferred.loss;
    then.grad_norm = deferred.grad_norm;
    throw nonfinite_error(deferred.nonfinite, run_.samples.drawn(deferred.nonfinite), then, policy_,
                          concat("found at iteration ", iteration, ", the next one that was looked at"));
  }
  const auto in_a_row = std::max(deferred.most_in_a_row, state_.in_a_row);
  if (in_a_row > policy_.most)
    throw UserError(ExitCode::numerics,
                    concat("the gradients overflowed half precision ", in_a_row, " times in a row before iteration ",
                           iteration, " (train.max_nonfinite is ", policy_.most, ")"),
                    "lower optim.lr, or set train.amp to \"bf16\"");
}

Decision NonFiniteHandler::decide(std::uint64_t iteration, const std::optional<StepStats>& stats) {
  if (stats && !is_finite(*stats)) return recover(iteration, *stats);
  if (stats && stats->overflow) {
    ++state_.count;
    if (++state_.in_a_row > policy_.most)
      throw error(iteration, *stats,
                  concat(policy_.most, " in a row, each with half the loss's scale of the one before"));
    return Decision::scale_down;
  }
  if (stats) state_.in_a_row = 0;
  state_.rollback_limit = NonFiniteState::no_limit;
  return Decision::update;
}

Decision NonFiniteHandler::recover(std::uint64_t iteration, const StepStats& stats) {
  ++state_.count;
  ++state_.in_a_row;
  switch (policy_.action) {
    case NonFinitePolicy::Action::stop: throw error(iteration, stats);
    case NonFinitePolicy::Action::skip:
      if (state_.in_a_row > policy_.most) throw error(iteration, stats, concat(policy_.most, " in a row were skipped"));
      warn_once(run_.group, concat(error(iteration, stats).what(), "; this update is skipped"));
      return Decision::skip;
    case NonFinitePolicy::Action::rollback:
      if (state_.count > policy_.most) throw error(iteration, stats, concat("after ", policy_.most, " rollbacks"));
      return Decision::roll_back;
  }
  throw InternalError("train.nonfinite of an unknown kind");
}

void NonFiniteHandler::add_rollback_target(std::uint64_t iteration) {
  if (policy_.action != NonFinitePolicy::Action::rollback) return;
  auto& targets = state_.rollback_targets;
  if (targets.empty() || targets.back() != iteration) targets.push_back(iteration);
  while (targets.size() > policy_.targets) targets.pop_front();
}

// The data is not rolled back, so the batches up to the bad one are not used again.
void NonFiniteHandler::roll_back(std::uint64_t iteration, const StepStats& stats) {
  std::vector<std::uint64_t> targets(state_.rollback_targets.rbegin(), state_.rollback_targets.rend());
  std::erase_if(targets, [this](auto target) { return target > state_.rollback_limit; });
  const auto target = run_.snapshots ? run_.snapshots->load(run_.learner, targets) : std::nullopt;
  if (!target) throw error(iteration, stats, "there is no snapshot to go back to");
  // Weights that fail at once were bad already, so the next rollback goes further back.
  state_.rollback_limit = *target > 0 ? *target - 1 : 0;
  if (run_.hyper.lower(policy_.rollback_lr)) run_.learner.set_hyper(run_.hyper.used());
  warn_once(run_.group, concat(error(iteration, stats).what(), "; the weights go back to those of iteration ", *target,
                               ", the learning rate is lowered to ", run_.hyper.lr()));
}

}  // namespace flowtrain
