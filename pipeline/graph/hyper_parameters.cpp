#include "pipeline/graph/hyper_parameters.h"

#include <algorithm>

#include "nets/entries.h"
#include "pipeline/config/keys.h"
#include "pipeline/config/metric_rules.h"
#include "pipeline/config/periods.h"
#include "sampling/core/registry.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

/// The schedule that [lr] or [lr.warmup] is short for; its name has the origin of the first of `keys`.
Settings schedule_of(const Settings& table, const char* kind, std::initializer_list<const char*> keys) {
  Settings settings(table.table(), joined(core_keys("schedule"), schedules().at(kind).keys));
  settings.set("name", std::string(kind), table.origin(*keys.begin()));
  for (auto key : keys) settings.set(key, table.value(key), table.origin(key));
  return settings;
}

HyperParameters base_hyper(const Settings& optim, std::uint64_t step_samples) {
  HyperParameters base;
  base.lr = optim.real("lr");
  if (const auto meant_for = optim.integer("lr_base_batch"); meant_for > 0)
    base.lr *= static_cast<double>(step_samples) * static_cast<double>(optim.integer("accum")) /
               static_cast<double>(meant_for);
  if (const auto& key = nets::optimizers().at(optim.text("name")).traits.momentum; !key.empty()) {
    const auto* several = std::get_if<std::vector<double>>(&optim.value(key));
    if (several && several->empty()) throw optim.error(key, "expected one number at least");
    base.momentum = several ? several->front() : optim.real(key);
  }
  return base;
}

/// The member that [[schedule]] calls `target`, of a HyperParameterPlan or of HyperParameters.
template <class Three>
auto& of_target(Three& three, const std::string& target) {
  return target == "lr" ? three.lr : target == "momentum" ? three.momentum : three.weight_decay;
}

}  // namespace

HyperParameters HyperParameterPlan::at(std::uint64_t iteration) const {
  const auto moved = [iteration](double value, const Schedules& schedules) {
    for (auto& schedule : schedules) value = schedule->apply(value, iteration);
    return value;
  };
  return {moved(base.lr, lr), moved(base.momentum, momentum), moved(base.weight_decay, weight_decay)};
}

std::vector<Settings> schedule_settings(const Config& config) {
  if (!config.list("schedule").empty()) return config.list("schedule");
  std::vector<Settings> all;
  const Settings &lr = config.table("lr"), &warmup = config.table("lr.warmup");
  if (!period(lr, "stepsize").off()) all.push_back(schedule_of(lr, "step", {"stepsize", "decay_rate"}));
  if (warmup.integer("length") > 0)
    all.push_back(schedule_of(warmup, "warmup", {"length", "by", "mode", "init_lr", "factor"}));
  return all;
}

namespace {

ScheduleInput input_of(const Settings& settings, const Config& config) {
  ScheduleInput input;
  if (!settings.has("metric")) return input;
  const auto [metric, lower_wins] = ruled_metric(settings, config);
  input.metric = metric;
  input.lower_wins = lower_wins;
  return input;
}

}  // namespace

std::vector<std::string> schedule_notes(const Config& config, std::uint64_t per_epoch, std::uint64_t last) {
  std::vector<std::string> notes;
  for (auto& settings : schedule_settings(config))
    if (TimedSchedule(settings, per_epoch, last, input_of(settings, config)).is_cut_short())
      notes.push_back(concat(settings.table(), " (", settings.text("name"), ", ", settings.origin("name").text(),
                             "): some of it is not reached within the run's ", last, " iterations"));
  return notes;
}

std::vector<HyperParameterPlan> hyper_parameter_plans(const Config& config, std::uint64_t step_samples,
                                                      std::uint64_t per_epoch, std::uint64_t last) {
  std::vector<HyperParameterPlan> plans;
  for (auto& optim : config.list("optim")) {
    HyperParameterPlan& plan = plans.emplace_back();
    plan.label = label_of(optim);
    plan.base = base_hyper(optim, step_samples);
  }
  for (auto& settings : schedule_settings(config)) {
    if (schedules().at(settings.text("name")).traits.has_state) continue;
    const auto schedule = std::make_shared<const TimedSchedule>(settings, per_epoch, last);
    for (auto& plan : plans) {
      if (auto& wanted = settings.text("optim"); !wanted.empty() && wanted != plan.label) continue;
      of_target(plan, settings.text("target")).push_back(schedule);
    }
  }
  for (auto& plan : plans)
    for (auto* all : {&plan.lr, &plan.momentum, &plan.weight_decay})
      std::stable_partition(all->begin(), all->end(), [](auto& schedule) { return !schedule->traits().comes_last; });
  return plans;
}

void StatefulSchedule::apply(const std::string& label, std::uint64_t iteration, HyperParameters& hyper) const {
  if (!optim.empty() && optim != label) return;
  double& moved = of_target(hyper, target);
  moved = schedule->apply(moved, iteration);
}

std::vector<StatefulSchedule> stateful_schedules(const Config& config, std::uint64_t per_epoch, std::uint64_t last,
                                                 const std::function<bool(const std::string&)>& measures) {
  std::vector<StatefulSchedule> all;
  for (auto& settings : schedule_settings(config)) {
    if (!schedules().at(settings.text("name")).traits.has_state) continue;
    ScheduleInput input = input_of(settings, config);
    input.measured = input.metric.empty() || measures(input.metric);
    std::string key = concat(settings.text("name"), " ", settings.text("optim"), " ", settings.text("target"));
    const auto same = std::ranges::count_if(all, [&](auto& each) { return each.key.starts_with(key); });
    if (same > 0) key += concat(" ", same + 1);
    all.push_back({key, settings.text("optim"), settings.text("target"),
                   std::make_shared<TimedSchedule>(settings, per_epoch, last, input)});
  }
  return all;
}

}  // namespace flowtrain
