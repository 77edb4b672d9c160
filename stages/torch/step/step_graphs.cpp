#include "stages/torch/step/step_graphs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/core/warning.h"
#include "stages/hooks/hooks.h"
#include "stages/torch/named.h"
#include "stages/trace/profile.h"

namespace flowtrain {

namespace {
constexpr int warm_up_steps = 3;  // made without graphs: libraries choose their kernels and memory in them
constexpr int most_captures = 8;  // more captures do not pay
}  // namespace

StepGraphs::StepGraphs(const LearnerSpec& spec) : spec_(spec), on_(*spec.tables.train.cuda_graph) {
  const at::Device where(spec.process.device);
  if (on_) make_ = spec.process.graphs || where.is_cpu() ? spec.process.graphs : cuda_work_graphs(where.index());
}

void StepGraphs::set_hyper(std::span<const HyperParameters> hyper) {
  const auto same = [](const HyperParameters& a, const HyperParameters& b) {
    return a.momentum == b.momentum && a.weight_decay == b.weight_decay;
  };
  if (!std::ranges::equal(hyper, hyper_, same)) forget();
  hyper_.assign(hyper.begin(), hyper.end());
}

bool StepGraphs::wanted() {
  if (!on_ || captured()) return on_;
  if (const auto reason = obstacle(); !reason.empty()) return leave_because(reason), false;
  if (steps_++ < warm_up_steps) return false;
  if (captures_ >= most_captures) return leave_because("momentum or weight decay keeps changing"), false;
  return true;
}

bool StepGraphs::takes(const nets::NamedTensors& batch, const Step& step) {
  if (!captured()) try {
      capture(batch, step);
    } catch (const std::exception& error) {
      return leave_because(first_line(error.what())), false;
    }
  if (batch.size() != batch_.size()) return false;
  for (const auto& [name, tensor] : batch)
    if (!batch_.contains(name) || batch_.at(name).sizes() != tensor.sizes() ||
        batch_.at(name).scalar_type() != tensor.scalar_type())
      return false;
  return true;
}

void StepGraphs::repeat_gradients(const nets::NamedTensors& batch) {
  for (const auto& [name, tensor] : batch) at::Tensor(batch_.at(name)).copy_(tensor);
  gradients_->replay();
}

void StepGraphs::leave() {
  forget();
  batch_ = {};
  outputs_ = {};
  on_ = false;
}

std::string StepGraphs::obstacle() const {
  const auto looks = [this](HookEvent event) { return spec_.process.hooks && spec_.process.hooks->wants(event); };
  const auto is_more = [](const std::string& key) {
    return [key](const Settings& optim) { return optim.integer(key) > 1; };
  };
  if (!make_)
    return at::Device(spec_.process.device).is_cpu() ? "the net computes on the CPU" : "this build has no CUDA graphs";
  if (spec_.process.mode != TrainMode::full) return "there is no update";
  if (*spec_.tables.train.accum > 1) return "train.accum is more than 1";
  if (spec_.process.group->size() > 1) return "several processes train";
  if (spec_.process.profile && spec_.process.profile->detailed()) return "--profile observes the step";
  if (std::ranges::any_of(spec_.data.train_layout.fields(), &Field::sized)) return "pictures have several sizes";
  if (spec_.data.mixing.any()) return "[batch_augment] draws numbers for each batch";
  if (std::ranges::any_of(spec_.tables.optims, is_more("every"))) return "optimizers take turns ([[optim]] every)";
  if (std::ranges::any_of(spec_.tables.optims, is_more("accum")))
    return "gradients of several iterations make one update ([[optim]] accum)";
  if (std::ranges::any_of(std::array{HookEvent::batch, HookEvent::loss, HookEvent::backward, HookEvent::step}, looks))
    return "a hook observes the step";
  return {};
}

void StepGraphs::leave_because(const std::string& reason) {
  if (spec_.process.group->leads()) warn("train.cuda_graph: steps run without a graph: " + reason);
  leave();
}

void StepGraphs::capture(const nets::NamedTensors& batch, const Step& step) {
  forget();
  ++captures_;
  batch_ = mapped(batch, [](const at::Tensor& tensor) { return tensor.clone(); });
  gradients_ = make_();
  gradients_->capture([this, gradients = step.gradients] { outputs_ = gradients(batch_); });
  auto last = make_();
  last->capture(step.update);
  update_ = std::move(last);
}

}  // namespace flowtrain
