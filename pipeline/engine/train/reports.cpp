#include "pipeline/engine/train/reports.h"

#include <cmath>
#include <utility>

namespace flowtrain {

namespace {

// Returns whether the line has a value of its own by this name, whose mean a hook must not change.
bool is_own(const std::string& name) { return name == "loss" || name == "grad_norm"; }

}  // namespace

void Reports::add(const StepStats& stats, bool update) {
  meter_.exchanged(stats);
  state_.line.clipped += stats.clipped;
  if (!update) return;
  state_.note("loss", stats.loss);
  state_.note("grad_norm", stats.grad_norm);
  for (auto& [name, value] : stats.parts) state_.note(name, value);
}

void Reports::put(StepEvent event, const Scalars& scalars) {
  meter_.count_iteration();
  ++state_.line.iterations;
  Scalars all;
  if (std::isfinite(event.loss)) {
    all.emplace_back("loss", event.loss);
    all.insert(all.end(), scalars.begin(), scalars.end());
  }
  hooks_.end_iteration(all);
  take_logged();
  if (!plan_.epoch.off()) {
    event.epoch = plan_.epoch.number(event.iteration);
    add_to_means(event, scalars);
  }
  event.report = due(event.iteration);
  complete(event);
  show(event, scalars);
  if (plan_.epoch.ends(event.iteration)) end_epoch(event.iteration);
}

Scalars Reports::epoch_means() const {
  Scalars means;
  for (auto& [name, scalar] : state_.epoch_sums)
    means.emplace_back(name, scalar.sum / static_cast<double>(scalar.count));
  return means;
}

// The sums are in the run's state, so that a resumed epoch has the same means. Metrics that were not read or are not
// finite do not count, nor do learning rates.
void Reports::add_to_means(const StepEvent& event, const Scalars& scalars) {
  if (plan_.epoch.begins(event.iteration)) state_.epoch_sums.clear();
  add_to_mean("loss", event.loss);
  add_to_mean("grad_norm", event.grad_norm);
  if (!std::isfinite(event.loss)) return;
  for (auto& [name, value] : scalars)
    if (!name.starts_with("lr.")) add_to_mean(name, value);
}

void Reports::add_to_mean(const std::string& name, double value) {
  if (!std::isfinite(value)) return;
  auto& [sum, count] = state_.epoch_sums[name];
  sum += value;
  ++count;
}

void Reports::complete(StepEvent& event) {
  event.clipped = state_.line.clipped / static_cast<double>(state_.line.iterations);
  event.loss_avg = state_.recent_mean("loss");
  event.times = meter_.times(event.report);
  const double iteration_s = event.times.data_s + event.times.step_s;  // the time of this process
  if (load_) load_->describe(event, meter_.consumer());
  if (event.report) {
    meter_.compare_ranks(group_, event);
    read_gauges(event, iteration_s);
  }
  event.times.elapsed_s = meter_.elapsed_s();
  event.times.eta_s = meter_.remaining_s(plan_.last - event.iteration);
}

void Reports::read_gauges(StepEvent& event, double iteration_s) const {
  if (gauges_.phases) event.times.phase_s = gauges_.phases->line_s();
  for (double& time_s : event.times.phase_s) time_s /= static_cast<double>(meter_.iterations());
  auto& [flops, mfu, use] = event.machine;
  if (gauges_.machine) use = gauges_.machine->now();
  if (flops > 0 && gauges_.peak_flops > 0 && iteration_s > 0)
    mfu = flops / group_.size() / iteration_s / gauges_.peak_flops;
}

// An iteration counts once, however often a hook logs a value in it.
void Reports::take_logged() {
  for (auto& [name, value] : hooks_.logged()) {
    if (!is_own(name)) state_.note(name, value);
    put_scalar(state_.line.logged, name, value);
  }
  hooks_.logged().clear();
}

// Returns means of the line's values. The line has its values after them, so that a value of such a name is shown.
Scalars Reports::smoothed(const Scalars& scalars) const {
  Scalars means;
  for (auto& [name, value] : scalars)
    if (state_.recent.contains(name) && !is_own(name)) means.emplace_back(name + "_avg", state_.recent_mean(name));
  return means;
}

void Reports::show(const StepEvent& event, const Scalars& scalars) {
  if (!event.report) return loggers_.step(event, {});
  Scalars all = scalars;
  all.insert(all.end(), state_.line.logged.begin(), state_.line.logged.end());
  Scalars shown = smoothed(all);
  if (state_.recent.contains("grad_norm")) shown.emplace_back("grad_norm_avg", state_.recent_mean("grad_norm"));
  shown.insert(shown.end(), all.begin(), all.end());
  loggers_.step(event, shown);
  state_.line = {};
  meter_.begin_report();
  if (load_) load_->begin_report(meter_.consumer());
  if (gauges_.phases) gauges_.phases->begin_line();
}

void Reports::end_epoch(std::uint64_t iteration) {
  Scalars means = epoch_means();
  for (auto& rate : meter_.end_epoch()) means.push_back(std::move(rate));
  loggers_.epoch(iteration, plan_.epoch.number(iteration), means);
}

}  // namespace flowtrain
