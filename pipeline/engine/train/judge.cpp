#include "pipeline/engine/train/judge.h"

#include <algorithm>
#include <vector>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"

namespace flowtrain {

UserError Judge::error(std::uint64_t iteration, const StepStats& stats, const std::string& why) const {
  return nonfinite_error(iteration, samples.last_batch(), stats, policy.run, why);
}

// One process trains on a GPU, and nobody has waited for its last steps: train.nonfinite is "stop", or each would have
// been read.
void Judge::read_deferred(std::uint64_t iteration, const DeferredStats& deferred) {
  if (deferred.steps == 0) return;
  state.nonfinite += deferred.overflows;
  state.nonfinite_in_a_row =
      deferred.overflows == deferred.steps ? state.nonfinite_in_a_row + deferred.overflows : deferred.in_a_row;
  if (deferred.nonfinite > 0) {
    StepStats then;
    then.loss = deferred.loss;
    then.grad_norm = deferred.grad_norm;
    throw nonfinite_error(deferred.nonfinite, samples.drawn(deferred.nonfinite), then, policy.run,
                          concat("found at iteration ", iteration, ", the next one that was looked at"));
  }
  const auto in_a_row = std::max(deferred.most_in_a_row, state.nonfinite_in_a_row);
  if (in_a_row > policy.most)
    throw UserError(ExitCode::numerics,
                    concat("the gradients overflowed half precision ", in_a_row, " times in a row before iteration ",
                           iteration, " (train.max_nonfinite is ", policy.most, ")"),
                    "lower optim.lr, or set train.amp to \"bf16\"");
}

Decision Judge::decide(std::uint64_t iteration, const std::optional<StepStats>& stats) {
  state.skipped_in_a_row = 0;
  if (!stats) return Decision::update;
  if (!is_finite(*stats)) return recover(iteration, *stats);
  if (stats->overflow) {
    ++state.nonfinite;
    if (++state.nonfinite_in_a_row > policy.most)
      throw error(iteration, *stats,
                  concat(policy.most, " in a row, each with half the loss's scale of the one before"));
    return Decision::scale_down;
  }
  state.note("loss", stats->loss);
  state.note("grad_norm", stats->grad_norm);
  for (auto& [name, value] : stats->parts) state.note(name, value);
  state.nonfinite_in_a_row = 0;
  return Decision::update;
}

Decision Judge::recover(std::uint64_t iteration, const StepStats& stats) {
  ++state.nonfinite;
  ++state.nonfinite_in_a_row;
  switch (policy.action) {
    case NonFinitePolicy::Action::stop: throw error(iteration, stats);
    case NonFinitePolicy::Action::skip:
      if (state.nonfinite_in_a_row > policy.most)
        throw error(iteration, stats, concat(policy.most, " in a row were skipped"));
      return Decision::skip;
    case NonFinitePolicy::Action::rollback:
      if (state.nonfinite > policy.most) throw error(iteration, stats, concat("after ", policy.most, " rollbacks"));
      return Decision::roll_back;
  }
  throw InternalError("train.nonfinite of an unknown kind");
}

const char* Judge::carry_out(Decision decision, std::uint64_t iteration, const std::optional<StepStats>& stats) {
  switch (decision) {
    case Decision::update:
      learner.update();
      state.rollback_limit = RunState::no_limit;
      return nullptr;
    case Decision::skip:
      learner.discard();
      warn_once(group, concat(error(iteration, stats.value()).what(), "; this update is skipped"));
      return "skipped";
    case Decision::scale_down: learner.update(); return "scaled down";
    case Decision::roll_back: roll_back(iteration, stats.value()); return "rolled back";
  }
  throw InternalError("a decision of an unknown kind");
}

void Judge::add_rollback_target(std::uint64_t iteration) {
  if (policy.action != NonFinitePolicy::Action::rollback) return;
  auto& targets = state.rollback_targets;
  if (targets.empty() || targets.back() != iteration) targets.push_back(iteration);
  while (targets.size() > policy.targets) targets.pop_front();
}

// The data goes on where it is: what was met on the way to the bad batch, and that batch, are not met again.
void Judge::roll_back(std::uint64_t iteration, const StepStats& stats) {
  std::vector<std::uint64_t> targets(state.rollback_targets.rbegin(), state.rollback_targets.rend());
  std::erase_if(targets, [this](auto target) { return target > state.rollback_limit; });
  const auto target = snapshots ? snapshots->load(learner, targets) : std::nullopt;
  if (!target) throw error(iteration, stats, "there is no snapshot to go back to");
  // Weights that fail at once were bad already: the next rollback goes further back.
  state.rollback_limit = *target > 0 ? *target - 1 : 0;
  state.lr_scale *= policy.rollback_lr;
  hyper.lower();
  warn_once(group, concat(error(iteration, stats).what(), "; the weights go back to those of iteration ", *target,
                          ", the learning rate is lowered to ", hyper.lr()));
}

}  // namespace flowtrain
