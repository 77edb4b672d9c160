#include "stages/torch/diagnostics/step_observers.h"

namespace flowtrain {

void StepObservers::begin_iteration(const nets::NamedTensors& parameters) {
  if (profile_ && profile_->recording() != (op_times_ != nullptr))
    op_times_ = profile_->recording() ? std::make_unique<OpTimes>(*profile_, parameters, where_) : nullptr;
}

void StepObservers::show_batch(const Slab& slab, nets::NamedTensors& batch) {
  if (look(Point::batch) || look(Point::loss)) {
    ids_.clear();
    for (auto& row : slab.rows()) ids_.push_back(row.id);
    hooks_->moment().samples = ids_;
  }
  show(Point::batch, &Moment::batch, batch);
}

void StepObservers::show_losses(nets::NamedTensors& losses) { show(Point::loss, &Moment::losses, losses); }

void StepObservers::show_parameters(Point point, const nets::NamedTensors& parameters) {
  show(point, &Moment::parameters, parameters);
}

template <class Tensors>
void StepObservers::show(Point point, Tensors* Moment::*seen, Tensors& tensors) {
  if (!look(point)) return;
  hooks_->moment().*seen = &tensors;
  hooks_->call(point);
  hooks_->moment().*seen = nullptr;
}

}  // namespace flowtrain
