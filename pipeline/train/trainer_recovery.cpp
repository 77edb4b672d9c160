// What the trainer does where a loss or a gradient is not finite: see nonfinite.h.

#include <algorithm>

#include "pipeline/telemetry/log.h"
#include "pipeline/train/trainer.h"
#include "sampling/core/error.h"

namespace flowtrain {

// Names the samples of all processes: which of them is to blame is not known.
UserError Trainer::nonfinite(const Slab& slab, const StepResult& done, const std::string& why) const {
  std::vector<std::uint64_t> samples;
  if (grouped())
    for (auto& row : parts_.line.rows(slab.ticket())) samples.push_back(trained_on(row));
  else
    for (auto& row : slab.rows()) samples.push_back(row.id);
  return nonfinite_error(slab.ticket().iteration, samples, done, parts_.nonfinite.run, why);
}

// One process trains on a GPU, and nobody has waited for its last steps: train.nonfinite is "stop", or each would have
// been looked at.
void Trainer::catch_up(const Slab& slab, const Unread& unread) {
  if (unread.steps == 0) return;
  state_.nonfinite += unread.overflows;
  state_.nonfinite_in_a_row =
      unread.overflows == unread.steps ? state_.nonfinite_in_a_row + unread.overflows : unread.in_a_row;
  if (unread.nonfinite > 0) {
    std::vector<std::uint64_t> samples;
    Ticket last = slab.ticket();
    last.iteration = unread.nonfinite;
    for (auto& row : parts_.line.rows(last)) samples.push_back(row.id);
    StepResult then;
    then.loss = unread.loss;
    then.grad_norm = unread.grad_norm;
    throw nonfinite_error(unread.nonfinite, samples, then, parts_.nonfinite.run,
                          say("found at iteration ", slab.ticket().iteration, ", the next one that was looked at"));
  }
  const auto in_a_row = std::max(unread.most_in_a_row, state_.nonfinite_in_a_row);
  if (in_a_row > parts_.nonfinite.most)
    throw UserError(Exit::numerics,
                    say("the gradients overflowed half precision ", in_a_row, " times in a row before iteration ",
                        slab.ticket().iteration, " (train.max_nonfinite is ", parts_.nonfinite.most, ")"),
                    "lower optim.lr, or set train.amp to \"bf16\"");
}

void Trainer::recover(const Slab& slab, const StepResult& done) {
  const NonFinitePolicy& policy = parts_.nonfinite;
  ++state_.nonfinite;
  ++state_.nonfinite_in_a_row;
  switch (policy.action) {
    case NonFinitePolicy::Action::stop: throw nonfinite(slab, done);
    case NonFinitePolicy::Action::skip:
      if (state_.nonfinite_in_a_row > policy.most)
        throw nonfinite(slab, done, say(policy.most, " in a row were skipped"));
      parts_.learner->discard();
      event_.recovery = "skipped";
      warn(say(nonfinite(slab, done).what(), "; this update is skipped"));
      return;
    case NonFinitePolicy::Action::rollback:
      if (state_.nonfinite > policy.most) throw nonfinite(slab, done, say("after ", policy.most, " rollbacks"));
      return roll_back(slab, done);
  }
}

// The learner leaves the weights, and takes a smaller scale for the next loss.
void Trainer::scale_down(const Slab& slab, const StepResult& done) {
  ++state_.nonfinite;
  if (++state_.nonfinite_in_a_row > parts_.nonfinite.most)
    throw nonfinite(slab, done,
                    say(parts_.nonfinite.most, " in a row, each with half the loss's scale of the one before"));
  event_.recovery = "scaled down";
  parts_.learner->update();
}

// A rollback may go back to the snapshot of this iteration: one that each run has, however often it was interrupted. So
// not to those that a signal left.
void Trainer::add_rollback_target() {
  if (parts_.nonfinite.action != NonFinitePolicy::Action::rollback) return;
  auto& targets = state_.rollback_targets;
  if (targets.empty() || targets.back() != state_.iteration) targets.push_back(state_.iteration);
  while (targets.size() > parts_.nonfinite.targets) targets.pop_front();
}

// The data goes on where it is: what was met on the way to the bad batch, and that batch, are not met again.
void Trainer::roll_back(const Slab& slab, const StepResult& done) {
  std::vector<std::uint64_t> targets(state_.rollback_targets.rbegin(), state_.rollback_targets.rend());
  std::erase_if(targets, [this](auto target) { return target > state_.rollback_limit; });
  const auto iteration = parts_.snapshots ? parts_.snapshots->load(*parts_.learner, targets) : std::nullopt;
  if (!iteration) throw nonfinite(slab, done, "there is no snapshot to go back to");
  // Weights that fail at once were bad already: the next rollback goes further back.
  state_.rollback_limit = *iteration > 0 ? *iteration - 1 : 0;
  state_.lr_scale *= parts_.nonfinite.rollback_lr;
  set_rates(slab.ticket().iteration);
  event_.recovery = "rolled back";
  warn(say(nonfinite(slab, done).what(), "; the weights go back to those of iteration ", *iteration,
           ", the learning rate is lowered to ", rates_.front().lr));
}

}  // namespace flowtrain
