#include "pipeline/train/reports.h"

#include <cmath>
#include <utility>

namespace flowtrain {

void Reports::put(StepEvent event, const Scalars& scalars) {
  pace_.count_iteration();
  ++state_.line.iterations;
  Scalars all;
  if (std::isfinite(event.loss)) {
    all.emplace_back("loss", event.loss);
    all.insert(all.end(), scalars.begin(), scalars.end());
  }
  hooks_.end_iteration(all);
  if (plan_.per_epoch > 0) add_to_means(event, scalars);
  event.report = due(event.iteration);
  complete(event);
  show(event, scalars);
  if (ends_epoch()) end_epoch();
}

void Reports::add_to_means(const StepEvent& event, const Scalars& scalars) {
  if ((event.iteration - 1) % plan_.per_epoch == 0) means_.begin_epoch();
  means_.add("loss", event.loss);
  means_.add("grad_norm", event.grad_norm);
  if (std::isfinite(event.loss)) means_.add(scalars);
}

void Reports::complete(StepEvent& event) const {
  event.clipped = state_.line.clipped / static_cast<double>(state_.line.iterations);
  event.loss_avg = 0;
  for (const double loss : state_.losses) event.loss_avg += loss / static_cast<double>(state_.losses.size());
  pace_.describe(event);
  if (event.report) pace_.compare_ranks(group_, event);
  const auto done = static_cast<double>(event.iteration + 1 - plan_.first);
  event.eta_s = pace_.run_s() / done * static_cast<double>(plan_.last - event.iteration);
}

void Reports::show(const StepEvent& event, const Scalars& scalars) {
  if (!event.report) return loggers_.step(event, {});
  Scalars shown = scalars;
  shown.insert(shown.end(), hooks_.logged().begin(), hooks_.logged().end());
  loggers_.step(event, shown);
  hooks_.logged().clear();
  state_.line = {};
  pace_.begin_report();
}

void Reports::end_epoch() {
  Scalars means = epoch_means(state_);
  for (auto& rate : pace_.end_epoch()) means.push_back(std::move(rate));
  loggers_.epoch(state_.iteration, (state_.iteration - 1) / plan_.per_epoch, means);
}

}  // namespace flowtrain
