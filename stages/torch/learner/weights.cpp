#include "stages/torch/learner/weights.h"

#include <torch/types.h>

namespace flowtrain {

void Weights::keep_buffers() {
  kept_.clear();
  copier_.before_buffers_change();
  if (!keeps_) return;
  for (auto& [name, buffer] : buffers_) kept_.push_back(buffer.clone());
}

void Weights::restore_buffers() {
  const torch::NoGradGuard no_gradients;
  auto to = buffers_.begin();
  for (auto& kept : kept_) (to++)->second.copy_(kept);
}

void Weights::load(const std::vector<StateTensor>& model) {
  nets::NamedTensors all;
  for (auto& [name, tensor] : parameters_) all.set(name, tensor);
  for (auto& [name, tensor] : buffers_) all.set(name, tensor);
  copier_.before_change();
  copy_in(model, all, "model");
}

}  // namespace flowtrain
