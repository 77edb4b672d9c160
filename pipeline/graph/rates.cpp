#include "pipeline/graph/rates.h"

#include <algorithm>

#include "nets/entries.h"
#include "pipeline/config/keys.h"
#include "pipeline/config/words.h"
#include "sampling/core/registry.h"
#include "sampling/core/say.h"

namespace flowtrain {

namespace {

/// What [lr] or [lr.warmup] stands for; the first of `keys` is where it is said.
Settings schedule_of(const Settings& table, const char* kind, std::initializer_list<const char*> keys) {
  Settings settings(table.table(), joined(core_keys("schedule"), curves().at(kind).keys));
  settings.set("name", std::string(kind), table.origin(*keys.begin()));
  for (auto key : keys) settings.set(key, table.value(key), table.origin(key));
  return settings;
}

Rates base_rates(const Settings& optim, std::uint64_t step_samples) {
  Rates base;
  base.lr = optim.real("lr");
  if (const auto meant_for = optim.integer("lr_base_batch"); meant_for > 0)
    base.lr *= static_cast<double>(step_samples) * static_cast<double>(optim.integer("accum")) /
               static_cast<double>(meant_for);
  if (const auto& key = nets::optimizers().at(optim.text("name")).traits.momentum; !key.empty()) {
    const auto* several = std::get_if<std::vector<double>>(&optim.value(key));
    base.momentum = several ? several->front() : optim.real(key);
  }
  return base;
}

}  // namespace

Rates RatePlan::at(std::uint64_t iteration) const {
  const auto moved = [iteration](double value, const Curves& curves) {
    for (auto& curve : curves) value = curve->apply(value, iteration);
    return value;
  };
  return {moved(base.lr, lr), moved(base.momentum, momentum), moved(base.weight_decay, weight_decay)};
}

std::vector<Settings> schedules(const Config& config) {
  if (!config.list("schedule").empty()) return config.list("schedule");
  std::vector<Settings> all;
  const Settings &lr = config.table("lr"), &warmup = config.table("lr.warmup");
  if (!period(lr, "stepsize").off()) all.push_back(schedule_of(lr, "step", {"stepsize", "decay_rate"}));
  if (warmup.integer("t") > 0) all.push_back(schedule_of(warmup, "warmup", {"t", "by", "mode", "init_lr", "factor"}));
  return all;
}

std::vector<std::string> schedule_notes(const Config& config, std::uint64_t per_epoch, std::uint64_t last) {
  std::vector<std::string> notes;
  for (auto& settings : schedules(config))
    if (ScheduledCurve(settings, per_epoch, last).is_cut_short())
      notes.push_back(say(settings.table(), " (", settings.text("name"), ", ", settings.origin("name").text(),
                          "): some of it is not reached within the run's ", last, " iterations"));
  return notes;
}

std::vector<RatePlan> rate_plans(const Config& config, std::uint64_t step_samples, std::uint64_t per_epoch,
                                 std::uint64_t last) {
  std::vector<RatePlan> plans;
  for (auto& optim : config.list("optim")) {
    RatePlan& plan = plans.emplace_back();
    plan.label = label_of(optim);
    plan.base = base_rates(optim, step_samples);
  }
  for (auto& settings : schedules(config)) {
    const auto curve = std::make_shared<const ScheduledCurve>(settings, per_epoch, last);
    for (auto& plan : plans) {
      if (auto& wanted = settings.text("optim"); !wanted.empty() && wanted != plan.label) continue;
      const auto& target = settings.text("target");
      (target == "lr" ? plan.lr : target == "momentum" ? plan.momentum : plan.weight_decay).push_back(curve);
    }
  }
  for (auto& plan : plans)
    for (auto* curves : {&plan.lr, &plan.momentum, &plan.weight_decay})
      std::stable_partition(curves->begin(), curves->end(), [](auto& curve) { return !curve->is_warmup(); });
  return plans;
}

}  // namespace flowtrain
