#include "stages/torch/learner/step_readout.h"

#include <vector>

#include "stages/torch/readout.h"

namespace flowtrain {

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
