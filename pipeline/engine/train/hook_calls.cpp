#include "pipeline/engine/train/hook_calls.h"

namespace flowtrain {

HookCalls::HookCalls(Hooks* hooks, const RunProgress& progress, HookState& state, const Group& group,
                     std::uint64_t last_iteration, const Every& epoch)
    : hooks_(hooks ? hooks : &none_), progress_(progress), state_(state), epoch_(epoch) {
  HookContext& context = hooks_->context();
  context.last_iteration = last_iteration;
  context.rank = group.rank();
  context.world = group.size();
  context.logged = state_.logged;
  hooks_->restore(state_.states);
}

void HookCalls::operator()(HookEvent event, const Scalars& scalars) {
  HookContext& context = hooks_->context();
  context.iteration = progress_.iteration + (event == HookEvent::iteration_begin || event == HookEvent::epoch_begin);
  context.epoch = epoch_.number(context.iteration);
  context.scalars = &scalars;
  hooks_->call(event);
  context.scalars = nullptr;
}

void HookCalls::begin_iteration(std::uint64_t iteration, std::vector<HyperParameters>& hyper) {
  if (epoch_.begins(iteration)) (*this)(HookEvent::epoch_begin);
  hooks_->context().hyper = hyper;
  (*this)(HookEvent::iteration_begin);
  hooks_->context().hyper = {};
  hooks_->context().iteration = iteration;  // The learner calls the events within the step.
}

void HookCalls::end_iteration(const Scalars& scalars) {
  (*this)(HookEvent::iteration_end, scalars);
  if (epoch_.ends(progress_.iteration)) (*this)(HookEvent::epoch_end);
}

void HookCalls::on_exception(const std::exception& error) {
  hooks_->context().error = &error;
  (*this)(HookEvent::exception);
  hooks_->context().error = nullptr;
}

void HookCalls::save() {
  state_.states = hooks_->states();
  state_.logged = logged();
}

}  // namespace flowtrain
