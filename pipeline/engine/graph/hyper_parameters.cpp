#include "pipeline/engine/graph/hyper_parameters.h"

#include <algorithm>

#include "nets/entries.h"
#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/metric_rules.h"
#include "pipeline/base/values/periods.h"
#include "sampling/core/registry.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

/// Returns the schedule that [lr] or [lr.warmup] is short for; its name has the origin of the first of `keys`.
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

/// Returns the member that [[schedule]] calls `target`, of a HyperParameterPlan or of HyperParameters.
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

/// Returns the number of iterations of which an optimizer makes one update.
std::uint64_t update_length(const Settings& optim) {
  const auto every = static_cast<std::uint64_t>(optim.integer("every")),
             accum = static_cast<std::uint64_t>(optim.integer("accum"));
  return every > ~std::uint64_t{0} / accum ? ~std::uint64_t{0} : every * accum;
}

/// Adds a note on the iterations after the last update.
void note_lost_iterations(std::vector<std::string>& notes, const Config& config, std::uint64_t last) {
  for (auto& optim : config.list("optim")) {
    const std::uint64_t lost = last % update_length(optim);
    if (optim.integer("accum") == 1 || lost == 0) continue;
    const std::string which = lost == 1 ? concat("iteration ", last, " makes")
                                        : concat("iterations ", last - lost + 1, " to ", last, " make");
    notes.push_back(concat(optim.table(), ".accum (", optim.origin("accum").text(), "): ", which,
                           " no update, as the run ends before the next one"));
  }
}

/// Adds a note on the rules that compare validations, if there is one validation only, at the end of the run.
void note_idle_rules(std::vector<std::string>& notes, const Config& config, const Every& epoch, std::uint64_t last) {
  const ValKeys val = config.val();
  const Every every = period(val.every).to_iterations(epoch);
  if (every.off() || every.iterations(1) < last) return;
  const auto add = [&](const Settings& table, const char* key) {
    notes.push_back(concat(table.table(), ".", key, " (", table.origin(key).text(),
                           ") never acts: the run has one validation, at its end (val.every, ",
                           val.every.origin().text(), ")"));
  };
  if (const Settings& stop = config.table("early_stop"); stop.integer("patience") > 0) add(stop, "patience");
  for (auto& schedule : config.list("schedule"))
    if (schedules().at(schedule.text("name")).traits.has_state) add(schedule, "name");
}

/// Adds a note on a learning rate that is 0 in a sixteenth of the run or more, after which it may rise again.
void note_zero_rate(std::vector<std::string>& notes, const HyperParameterPlan& plan, std::uint64_t last) {
  constexpr std::uint64_t looks = 512, least_looks = looks / 16;
  const std::uint64_t step = std::max<std::uint64_t>(1, last / looks);
  const std::uint64_t zeros_needed = std::max<std::uint64_t>(2, std::min(least_looks, last / 16));
  const auto is_zero = [&](std::uint64_t iteration) { return plan.at(iteration).lr == 0; };
  if (plan.base.lr == 0) return;
  std::uint64_t zeros = 0;
  for (std::uint64_t at = 1; at <= last; at += step) {
    zeros = is_zero(at) ? zeros + 1 : 0;
    if (zeros < zeros_needed) continue;
    std::uint64_t first = at - (zeros - 1) * step, before = first > step ? first - step : 0;
    while (first - before > 1) {
      const std::uint64_t middle = before + (first - before) / 2;
      (is_zero(middle) ? first : before) = middle;
    }
    notes.push_back(concat("the learning rate of ", plan.label, " is 0 from iteration ", first,
                           " on: schedules that overlap multiply, and what one came to stays after its end"));
    return;
  }
}

}  // namespace

void check_updates(const Config& config, std::uint64_t last) {
  for (auto& optim : config.list("optim")) {
    const std::uint64_t length = update_length(optim);
    if (length <= last) continue;
    const char* const key = optim.integer("accum") > 1 ? "accum" : "every";
    throw optim.error(key,
                      concat("one update takes ", length, " iterations, and the run has ", last, ", so ",
                             label_of(optim), " never changes a parameter"),
                      ExitCode::usage, "lower it, or let the run be longer: --max-iter");
  }
}

std::vector<std::string> schedule_notes(const Config& config, const Every& epoch, std::uint64_t last) {
  std::vector<std::string> notes;
  note_lost_iterations(notes, config, last);
  note_idle_rules(notes, config, epoch, last);
  for (auto& plan : hyper_parameter_plans(config, 1, epoch, last)) note_zero_rate(notes, plan, last);
  for (auto& settings : schedule_settings(config))
    if (TimedSchedule(settings, epoch, last, input_of(settings, config)).is_cut_short())
      notes.push_back(concat(settings.table(), " (", settings.text("name"), ", ", settings.origin("name").text(),
                             "): some of it is not reached within the run's ", last, " iterations"));
  return notes;
}

namespace {

std::uint64_t run_end(const Config& config, const Every& epoch) {
  if (const auto iterations = *config.run().max_iter; iterations > 0) return static_cast<std::uint64_t>(iterations);
  return epoch.iterations(static_cast<std::uint64_t>(*config.run().max_epochs));
}

std::string describe_end(const Config& config) {
  const auto iterations = *config.run().max_iter;
  return iterations > 0 ? concat(iterations, ", the run's") : concat(*config.run().max_epochs, " epochs, the run's");
}

std::string describe_end(const Settings& schedule, const Config& config) {
  if (const auto own = schedule.integer("end"); own > 0)
    return concat(own, schedule.text("by") == "epoch" ? " epochs" : "", ", its own");
  return describe_end(config);
}

/// Returns whether the sizes of pictures grow in stages of the run.
bool sizes_go_by_run(const Config& config) {
  return *config.loader().resizing == "progressive" && config.loader().resize_at->empty();
}

/// Returns whether two schedules move a value alike in the first `last` iterations, by some hundred samples of them.
bool move_alike(const TimedSchedule& one, const TimedSchedule& other, std::uint64_t last) {
  constexpr std::uint64_t looks = 256;
  for (std::uint64_t at = 1; at <= last; at += std::max<std::uint64_t>(1, std::min(at / 16, last / looks)))
    if (one.apply(1, at) != other.apply(1, at)) return false;
  return one.apply(1, std::max<std::uint64_t>(last, 1)) == other.apply(1, std::max<std::uint64_t>(last, 1));
}

/// Returns whether a schedule depends on the run's end; `was` has the old end, and `is` the new one.
bool depends_on_end(const Settings& was, const Settings& is, const Config& before, const Config& now) {
  // Two lengths of an epoch are tried: schedules by epoch advance early with the short one, others with the long one.
  for (const std::uint64_t epoch : {1, 1'000'000}) try {
      const std::uint64_t last_before = run_end(before, epoch), last = run_end(now, epoch);
      const ScheduleInput input = input_of(is, now);
      if (!move_alike(TimedSchedule(was, epoch, last_before, input), TimedSchedule(is, epoch, last, input),
                      std::min(last_before, last)))
        return true;
    } catch (const UserError&) {  // a run of this length has no such schedule
    }
  return false;
}

}  // namespace

std::vector<ChangedEnd> changed_ends(const Config& before, const Config& now) {
  const auto earlier = schedule_settings(before), all = schedule_settings(now);
  std::vector<ChangedEnd> changed;
  if (const auto was = describe_end(before), is = describe_end(now);
      was != is && sizes_go_by_run(before) && sizes_go_by_run(now))
    changed.push_back({"loader.resize_at", "the sizes", was, is});
  for (std::size_t i = 0; i < std::min(earlier.size(), all.size()); ++i) {
    Settings was = all[i];
    was.set("end", earlier[i].value("end"), earlier[i].origin("end"));
    const std::string old_end = describe_end(earlier[i], before), end = describe_end(all[i], now);
    if (old_end != end && depends_on_end(was, all[i], before, now))
      changed.push_back({all[i].table() + ".end", all[i].text("name"), old_end, end});
  }
  return changed;
}

std::vector<HyperParameterPlan> hyper_parameter_plans(const Config& config, std::uint64_t step_samples,
                                                      const Every& epoch, std::uint64_t last) {
  std::vector<HyperParameterPlan> plans;
  for (auto& optim : config.list("optim")) {
    HyperParameterPlan& plan = plans.emplace_back();
    plan.label = label_of(optim);
    plan.base = base_hyper(optim, step_samples);
  }
  for (auto& settings : schedule_settings(config)) {
    if (schedules().at(settings.text("name")).traits.has_state) continue;
    const auto schedule = std::make_shared<const TimedSchedule>(settings, epoch, last);
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

std::vector<StatefulSchedule> stateful_schedules(const Config& config, const Every& epoch, std::uint64_t last,
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
                   std::make_shared<TimedSchedule>(settings, epoch, last, input)});
  }
  return all;
}

}  // namespace flowtrain
