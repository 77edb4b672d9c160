#include "pipeline/engine/train/reports.h"

#include <cmath>
#include <utility>

namespace flowtrain {

namespace {

// Whether the line has a value of its own by this name, whose mean a hook must not change.
bool is_own(const std::string& name) { return name == "loss" || name == "grad_norm"; }

}  // namespace

void Reports::put(StepEvent event, const Scalars& scalars) {
  pace.count_iteration();
  ++state.line.iterations;
  Scalars all;
  if (std::isfinite(event.loss)) {
    all.emplace_back("loss", event.loss);
    all.insert(all.end(), scalars.begin(), scalars.end());
  }
  hooks.end_iteration(all);
  take_logged();
  if (!plan.epoch.off()) {
    event.epoch = plan.epoch.number(event.iteration);
    add_to_means(event, scalars);
  }
  event.report = due(event.iteration);
  complete(event);
  show(event, scalars);
  if (plan.epoch.ends(state.iteration)) end_epoch();
}

Scalars epoch_means(const RunState& state) {
  Scalars means;
  for (auto& [name, scalar] : state.epoch_sums)
    means.emplace_back(name, scalar.sum / static_cast<double>(scalar.count));
  return means;
}

// Of the epoch, for its line in metrics.jsonl; the sums are in the run's state, so that a resumed epoch has the same
// means. A metric that was not read, or is not finite, does not count; nor do learning rates.
void Reports::add_to_means(const StepEvent& event, const Scalars& scalars) {
  if (plan.epoch.begins(event.iteration)) state.epoch_sums.clear();
  add_to_mean("loss", event.loss);
  add_to_mean("grad_norm", event.grad_norm);
  if (!std::isfinite(event.loss)) return;
  for (auto& [name, value] : scalars)
    if (!name.starts_with("lr.")) add_to_mean(name, value);
}

void Reports::add_to_mean(const std::string& name, double value) {
  if (!std::isfinite(value)) return;
  auto& [sum, count] = state.epoch_sums[name];
  sum += value;
  ++count;
}

void Reports::complete(StepEvent& event) {
  event.clipped = state.line.clipped / static_cast<double>(state.line.iterations);
  event.loss_avg = state.recent_mean("loss");
  pace.describe(event);
  const double iteration_s = event.data_time_s + event.step_time_s;  // of this process
  if (load) load->describe(event, pace.consumer());
  if (event.report) {
    pace.compare_ranks(group, event);
    read_gauges(event, iteration_s);
  }
  event.elapsed_s = pace.elapsed_s();
  event.samples = state.samples;
  event.eta_s = pace.remaining_s(plan.last - event.iteration);
}

void Reports::read_gauges(StepEvent& event, double iteration_s) const {
  if (gauges.phases) event.phase_s = gauges.phases->line_s();
  for (double& time_s : event.phase_s) time_s /= static_cast<double>(pace.iterations());
  if (gauges.machine) event.machine = gauges.machine->now();
  if (event.flops > 0 && gauges.peak_flops > 0 && iteration_s > 0)
    event.mfu = event.flops / group.size() / iteration_s / gauges.peak_flops;
}

// An iteration counts once, however often a hook logs a value in it.
void Reports::take_logged() {
  for (auto& [name, value] : hooks.logged()) {
    if (!is_own(name)) state.note(name, value);
    put_scalar(state.line.logged, name, value);
  }
  hooks.logged().clear();
}

// Returns means of the line's values. The line has its values after them, so that a value of such a name is shown.
Scalars Reports::smoothed(const Scalars& scalars) const {
  Scalars means;
  for (auto& [name, value] : scalars)
    if (state.recent.contains(name) && !is_own(name)) means.emplace_back(name + "_avg", state.recent_mean(name));
  return means;
}

void Reports::show(const StepEvent& event, const Scalars& scalars) {
  if (!event.report) return loggers.step(event, {});
  Scalars all = scalars;
  all.insert(all.end(), state.line.logged.begin(), state.line.logged.end());
  Scalars shown = smoothed(all);
  if (state.recent.contains("grad_norm")) shown.emplace_back("grad_norm_avg", state.recent_mean("grad_norm"));
  shown.insert(shown.end(), all.begin(), all.end());
  loggers.step(event, shown);
  state.line = {};
  pace.begin_report();
  if (load) load->begin_report(pace.consumer());
  if (gauges.phases) gauges.phases->begin_line();
}

void Reports::end_epoch() {
  Scalars means = epoch_means(state);
  for (auto& rate : pace.end_epoch()) means.push_back(std::move(rate));
  loggers.epoch(state.iteration, plan.epoch.number(state.iteration), means);
}

}  // namespace flowtrain
