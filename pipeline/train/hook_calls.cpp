#include "pipeline/train/hook_calls.h"

#include <algorithm>

namespace flowtrain {

HookCalls::HookCalls(Hooks* hooks, RunState& state, const Group& group, std::uint64_t last_iteration,
                     std::uint64_t per_epoch)
    : hooks_(hooks ? hooks : &none_), state_(state), per_epoch_(per_epoch) {
  HookContext& context = hooks_->context();
  context.last_iteration = last_iteration;
  context.rank = group.rank();
  context.world = group.size();
  context.logged = state_.line.fresh;
  hooks_->restore(state_.hooks);
}

void HookCalls::operator()(HookEvent event, const Scalars& scalars) {
  HookContext& context = hooks_->context();
  context.iteration = state_.iteration + (event == HookEvent::iteration_begin || event == HookEvent::epoch_begin);
  context.epoch = per_epoch_ > 0 ? (std::max<std::uint64_t>(context.iteration, 1) - 1) / per_epoch_ : 0;
  context.scalars = &scalars;
  hooks_->call(event);
  context.scalars = nullptr;
}

void HookCalls::begin_iteration(std::uint64_t iteration, std::vector<HyperParameters>& hyper) {
  if (at_epoch_border(iteration - 1)) (*this)(HookEvent::epoch_begin);
  hooks_->context().hyper = hyper;
  (*this)(HookEvent::iteration_begin);
  hooks_->context().hyper = {};
  hooks_->context().iteration = iteration;  // for the events within the step, which the learner calls
}

void HookCalls::end_iteration(const Scalars& scalars) {
  (*this)(HookEvent::iteration_end, scalars);
  if (at_epoch_border(state_.iteration)) (*this)(HookEvent::epoch_end);
}

void HookCalls::on_exception(const std::exception& error) {
  hooks_->context().error = &error;
  (*this)(HookEvent::exception);
  hooks_->context().error = nullptr;
}

void HookCalls::save() {
  state_.hooks = hooks_->states();
  state_.line.fresh = logged();
}

}  // namespace flowtrain
