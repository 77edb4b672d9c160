#include "pipeline/train/hook_calls.h"

#include <algorithm>

namespace flowtrain {

HookCalls::HookCalls(Hooks* hooks, RunState& state, const Group& group, std::uint64_t last_iteration,
                     std::uint64_t per_epoch)
    : hooks_(hooks ? hooks : &none_), state_(state), per_epoch_(per_epoch) {
  Moment& moment = hooks_->moment();
  moment.last_iteration = last_iteration;
  moment.rank = group.rank();
  moment.world = group.size();
  moment.logged = state_.line.logged;
  hooks_->restore(state_.hooks);
}

void HookCalls::operator()(Point point, const Figures& figures) {
  Moment& moment = hooks_->moment();
  moment.iteration = state_.iteration + (point == Point::iteration_begin || point == Point::epoch_begin);
  moment.epoch = per_epoch_ > 0 ? (std::max<std::uint64_t>(moment.iteration, 1) - 1) / per_epoch_ : 0;
  moment.figures = &figures;
  hooks_->call(point);
  moment.figures = nullptr;
}

void HookCalls::begin_iteration(std::uint64_t iteration, std::vector<Rates>& rates) {
  if (at_epoch_border(iteration - 1)) (*this)(Point::epoch_begin);
  hooks_->moment().rates = rates;
  (*this)(Point::iteration_begin);
  hooks_->moment().rates = {};
  hooks_->moment().iteration = iteration;  // for the events within the step, which the learner calls
}

void HookCalls::end_iteration(const Figures& figures) {
  (*this)(Point::iteration_end, figures);
  if (at_epoch_border(state_.iteration)) (*this)(Point::epoch_end);
}

void HookCalls::on_exception(const std::exception& error) {
  hooks_->moment().error = &error;
  (*this)(Point::exception);
  hooks_->moment().error = nullptr;
}

void HookCalls::save() {
  state_.hooks = hooks_->states();
  state_.line.logged = logged();
}

}  // namespace flowtrain
