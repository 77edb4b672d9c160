#include "stages/torch/step_graphs.h"

#include <ATen/ATen.h>

namespace flowtrain {

void StepGraphs::capture(const nets::NamedTensors& batch, const std::function<void(const nets::NamedTensors&)>& gradients,
                         const std::function<void()>& update) {
  forget();
  ++captures_;
  batch_ = {};
  for (const auto& [name, tensor] : batch) batch_.add(name, tensor.clone());
  gradients_ = make_();
  gradients_->capture([this, gradients] { gradients(batch_); });
  auto last = make_();
  last->capture(update);
  update_ = std::move(last);
}

bool StepGraphs::takes(const nets::NamedTensors& batch) const {
  if (batch.size() != batch_.size()) return false;
  for (const auto& [name, tensor] : batch)
    if (!batch_.contains(name) || batch_.at(name).sizes() != tensor.sizes() || batch_.at(name).scalar_type() != tensor.scalar_type()) return false;
  return true;
}

void StepGraphs::repeat_gradients(const nets::NamedTensors& batch) {
  for (const auto& [name, tensor] : batch) at::Tensor(batch_.at(name)).copy_(tensor);
  gradients_->replay();
}

}  // namespace flowtrain
