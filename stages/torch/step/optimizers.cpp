#include "stages/torch/step/optimizers.h"

#include <algorithm>

#include "nets/steps/make.h"
#include "sampling/core/mistake.h"
#include "sampling/core/settings.h"
#include "stages/torch/named.h"
#include "stages/torch/state_copy.h"
#include "stages/torch/step/autocast.h"

namespace flowtrain {

namespace {

nets::ClipSpec clip_spec(const TrainKeys& train) {
  const std::string& by = *train.clip_by;
  const auto kind = by == "norm" ? nets::ClipBy::norm : by == "value" ? nets::ClipBy::value : nets::ClipBy::adaptive;
  return {kind, *train.clip, *train.clip_p};
}

}  // namespace

Clipping::Clipping(const LearnerSpec& spec, const AssignedParameters& assigned) {
  const nets::ClipSpec common = clip_spec(spec.tables.train);
  parts_.push_back({{}, common});
  for (std::size_t i = 0; i < spec.tables.optims.size(); ++i) {
    const double own = spec.tables.optims[i].real("clip");
    if (own >= 0) parts_.push_back({{}, {common.by, own, common.p}});
    Part& part = own >= 0 ? parts_.back() : parts_.front();
    append(part.parameters, parameters_of(assigned.optimizers[i]));
  }
  std::erase_if(parts_, [](auto& each) { return each.parameters.empty(); });
}

at::Tensor Clipping::clip() {
  at::Tensor norm, squares, cut;
  for (auto& part : parts_) {
    const nets::Clipped clipped = nets::clip_gradients(part.parameters, part.spec);
    norm = clipped.norm;
    squares = squares.defined() ? squares + clipped.norm.square() : clipped.norm.square();
    if (clipped.cut.defined()) cut = cut.defined() ? at::maximum(cut, clipped.cut) : clipped.cut;
  }
  if (cut.defined() && !cuts_.defined()) cuts_ = at::zeros_like(cut);
  if (cut.defined()) cuts_.add_(cut);  // adds in place, because a CUDA graph repeats it in the same memory
  return parts_.size() > 1 ? squares.sqrt() : norm;
}

void Clipping::forget_cuts() {
  if (cuts_.defined()) cuts_.zero_();
}

Optimizers::Optimizers(const LearnerSpec& spec, const AssignedParameters& assigned,
                       const nets::NamedTensors& parameters)
    : clipping_(spec, assigned) {
  for (const auto& [name, parameter] : parameters)
    if (!assigned.frozen.contains(name)) learned_.add(name, parameter);
  for (std::size_t i = 0; i < spec.tables.optims.size(); ++i) {
    const Settings& optim = spec.tables.optims[i];
    const auto& groups = assigned.optimizers[i];
    const nets::NamedTensors own = parameters_of(groups);
    for (const auto& [name, parameter] : own) owners_.emplace(name, static_cast<int>(i));
    const auto accum = static_cast<std::uint64_t>(optim.integer("accum"));
    auto optimizer = rethrow_at_key(optim, "name", [&] { return nets::make_optimizer(optim, groups); });
    optimizers_.push_back({std::move(optimizer), accum, {}});
    if (accum > 1) optimizers_.back().sum.emplace(own, static_cast<double>(accum));
  }
  if (amp_type(*spec.tables.train.amp) == at::kHalf) scaler_.emplace(at::Device(spec.process.device));
  if (spec.tables.ema && spec.tables.ema->real("decay") > 0) {
    ema_.emplace(learned_, spec.tables.ema->real("decay"), spec.tables.ema->boolean("warmup"));
    ema_validates_ = spec.tables.ema->boolean("validate");
  }
}

int Optimizers::owner(const std::string& name) const {
  const auto found = owners_.find(name);
  return found == owners_.end() ? -1 : found->second;
}

void Optimizers::set_hyper(std::span<const HyperParameters> hyper) {
  for (std::size_t i = 0; i < optimizers_.size(); ++i)
    optimizers_[i].optimizer->set_hyper(hyper[i].lr, hyper[i].momentum, hyper[i].weight_decay);
}

void Optimizers::keep_hyper_on_device() {
  for (auto& own : optimizers_) own.optimizer->keep_rate_on_device();
}

void Optimizers::forget_gradients() {
  for (auto& own : optimizers_) own.optimizer->zero_grad();
}

void Optimizers::apply(const std::vector<Pass>& passes, std::uint64_t iteration, const at::Tensor& overflow) {
  for (auto& pass : passes)
    for (auto& each : pass.served)
      if (each.at_work(iteration)) step(optimizers_[each.optimizer], iteration / each.every, overflow);
  if (scaler_) scaler_->update();
}

void Optimizers::step(Own& own, std::uint64_t turn, const at::Tensor& overflow) {
  if (!own.sum) return own.optimizer->step(overflow);
  own.sum->add(overflow);
  if (turn % own.accum != 0) return;
  own.sum->hand_out();
  own.optimizer->step();
}

void Optimizers::average(std::uint64_t iteration) {
  if (ema_) ema_->update(iteration);
}

nets::NamedTensors Optimizers::validated(const nets::NamedTensors& parameters) const {
  const nets::NamedTensors averages = validates_average() ? ema_->state() : nets::NamedTensors();
  nets::NamedTensors seen;
  for (auto& [name, tensor] : parameters)
    seen.add(name, averages.contains("ema." + name) ? averages.at("ema." + name) : tensor);
  return seen;
}

// Optimizers share no parameter, so no two tensors have one name.
nets::NamedTensors Optimizers::state(bool with_scale) const {
  nets::NamedTensors all;
  for (auto& own : optimizers_) append(all, own.optimizer->state());
  for (auto& own : optimizers_)
    if (own.sum) append(all, own.sum->state());
  if (ema_) append(all, ema_->state());
  if (scaler_ && with_scale) append(all, scaler_->state());
  return all;
}

void Optimizers::load(const std::vector<StateTensor>& from) {
  const bool has_scale =
      std::any_of(from.begin(), from.end(), [](auto& tensor) { return tensor.name.starts_with("scaler."); });
  const bool only_average =
      std::all_of(from.begin(), from.end(), [](auto& tensor) { return tensor.name.starts_with("ema."); });
  if (!only_average)
    copy_in(from, state(has_scale), "optimizer");
  else if (!from.empty())
    copy_in(from, ema_ ? ema_->state() : nets::NamedTensors(), "average");
  else if (ema_)
    ema_->restart();
}

}  // namespace flowtrain
