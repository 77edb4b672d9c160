#include "pipeline/train/reports.h"

#include <cmath>
#include <utility>

namespace flowtrain {

void Reports::put(StepEvent event, const Figures& figures) {
  pace_.count_iteration();
  ++state_.line.iterations;
  Figures all;
  if (std::isfinite(event.loss)) {
    all.emplace_back("loss", event.loss);
    all.insert(all.end(), figures.begin(), figures.end());
  }
  hooks_.end_iteration(all);
  if (plan_.per_epoch > 0) add_to_means(event, figures);
  event.report = due(event.iteration);
  complete(event);
  show(event, figures);
  if (ends_epoch()) end_epoch();
}

void Reports::add_to_means(const StepEvent& event, const Figures& figures) {
  means_.add("loss", event.loss);
  means_.add("grad_norm", event.grad_norm);
  if (std::isfinite(event.loss)) means_.add(figures);
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

void Reports::show(const StepEvent& event, const Figures& figures) {
  if (!event.report) return loggers_.step(event, {});
  Figures shown = figures;
  shown.insert(shown.end(), hooks_.logged().begin(), hooks_.logged().end());
  loggers_.step(event, shown);
  hooks_.logged().clear();
  state_.line = {};
  pace_.begin_report();
}

void Reports::end_epoch() {
  Figures means = means_.take();
  for (auto& rate : pace_.end_epoch()) means.push_back(std::move(rate));
  loggers_.epoch(state_.iteration, (state_.iteration - 1) / plan_.per_epoch, means);
}

}  // namespace flowtrain
