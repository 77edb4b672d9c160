#include "stages/torch/diagnostics/step_observers.h"

namespace flowtrain {

void StepObservers::begin_iteration(const nets::NamedTensors& parameters) {
  if (profile_ && profile_->recording() != (op_times_ != nullptr))
    op_times_ = profile_->recording() ? std::make_unique<OpTimes>(*profile_, parameters, where_) : nullptr;
}

void StepObservers::show_batch(const Slab& slab, nets::NamedTensors& batch) {
  if (look(HookEvent::batch) || look(HookEvent::loss)) {
    ids_.clear();
    for (auto& row : slab.rows()) ids_.push_back(row.id);
    hooks_->context().samples = ids_;
  }
  show(HookEvent::batch, &HookContext::batch, batch);
}

void StepObservers::show_losses(nets::NamedTensors& losses) { show(HookEvent::loss, &HookContext::losses, losses); }

void StepObservers::show_parameters(HookEvent event, const nets::NamedTensors& parameters) {
  show(event, &HookContext::parameters, parameters);
}

template <class Tensors>
void StepObservers::show(HookEvent event, Tensors* HookContext::*seen, Tensors& tensors) {
  if (!look(event)) return;
  hooks_->context().*seen = &tensors;
  hooks_->call(event);
  hooks_->context().*seen = nullptr;
}

}  // namespace flowtrain
