#include "stages/torch/step/step_readout.h"

#include <ATen/ATen.h>

#include <vector>

#include "stages/torch/readout.h"

namespace flowtrain {

void DeferredSteps::add(std::uint64_t iteration, const at::Tensor& loss, const at::Tensor& norm,
                        const at::Tensor& overflow) {
  const auto whole = loss.options().dtype(at::kLong);
  if (steps_++ == 0) {
    counts_ = at::zeros({4}, whole);
    scalars_ = at::zeros({2}, loss.options());
  }
  const at::Tensor left_out = overflow.defined() ? overflow.reshape({}).gt(0) : at::zeros({}, whole).gt(0);
  const at::Tensor finite = loss.isfinite().logical_and(norm.isfinite().logical_or(left_out));
  const at::Tensor is_first = counts_[0].eq(0).logical_and(finite.logical_not());
  const at::Tensor in_a_row = (counts_[2] + 1) * left_out;
  counts_ = at::stack({at::where(is_first, at::full({}, static_cast<std::int64_t>(iteration), whole), counts_[0]),
                       counts_[1] + left_out, in_a_row, at::maximum(counts_[3], in_a_row)});
  scalars_ = at::where(is_first, at::stack({loss, norm}), scalars_);
}

at::Tensor DeferredSteps::kept() const {
  return steps_ == 0 ? at::Tensor() : at::cat({counts_.to(at::kDouble), scalars_.to(at::kDouble)});
}

DeferredStats DeferredSteps::summary(std::span<const double> read) const {
  DeferredStats summary;
  if (steps_ == 0) return summary;
  summary.steps = steps_;
  const auto count = [&](std::size_t i) { return static_cast<std::uint64_t>(read[i]); };
  summary.nonfinite = count(0);
  summary.overflows = count(1);
  summary.in_a_row = count(2);
  summary.most_in_a_row = count(3);
  summary.loss = read[4];
  summary.grad_norm = read[5];
  return summary;
}

const StepStats& StepReadout::read(const TrainStep& step) {
  if (stats_) return *stats_;
  const Optimizers& optimizers = step.optimizers();
  const auto& passes = step.passes();
  Readout read;
  const auto flags = read.ask(step.exchange().flags());
  std::vector<std::size_t> reports;
  for (std::size_t i = 0; i < passes.size(); ++i) reports.push_back(read.ask(step.exchange().scalars(i)));
  const auto norm = read.ask(step.norm()), overflow = read.ask(step.overflow());
  const auto scale = read.ask(step.overflow().defined() ? optimizers.loss_scale() : at::Tensor());
  const auto cuts = read.ask(optimizers.cuts()), deferred = read.ask(deferred_.kept());
  read.fetch();
  StepStats& stats = stats_.emplace(step.exchange().stats(read[flags]));
  if (stats.exposed_s > 0 && profile_) profile_->waited_for_others(stats.exposed_s);
  for (std::size_t i = 0; i < passes.size(); ++i) passes[i].report(read[reports[i]], stats);
  if (step.norm().defined()) stats.grad_norm = read.one(norm);
  if (step.overflow().defined()) {
    stats.overflow = read.one(overflow) > 0;
    stats.parts.emplace_back("loss_scale", read.one(scale));
  }
  if (optimizers.cuts().defined()) stats.clipped = read.one(cuts);
  stats.deferred = deferred_.summary(read[deferred]);
  return stats;
}

void StepReadout::keep(const TrainStep& step) {
  if (!stats_) deferred_.add(step.iteration(), loss_of(step.passes()), step.norm(), step.overflow());
}

void StepReadout::forget(TrainStep& step) {
  if (!stats_) return;
  deferred_.forget();
  step.optimizers().forget_cuts();
  stats_.reset();
}

}  // namespace flowtrain
