#pragma once
// Rates for tests that need some.

#include "pipeline/base/config/part_kinds.h"
#include "pipeline/engine/graph/hyper_parameters.h"

namespace flowtrain::testing {

/// One [[schedule]].
inline Settings schedule_table(const std::string& kind, const std::vector<std::pair<std::string, Value>>& values) {
  Settings settings("schedule", keys_with("schedule", kind));
  settings.set("name", kind, {});
  for (auto& [key, value] : values) settings.set(key, value, {});
  return settings;
}

/// 0.1, divided by ten every `stepsize` iterations, after a warm-up of `warmup`.
inline HyperParameterPlan stepwise(std::int64_t stepsize, std::int64_t warmup = 0) {
  const auto schedule = [](const char* kind, const char* key, std::int64_t value) {
    return std::make_shared<const TimedSchedule>(schedule_table(kind, {{key, value}}), 1, 1000);
  };
  HyperParameterPlan plan;
  plan.base.lr = 0.1;
  plan.lr = {schedule("step", "stepsize", stepsize)};
  if (warmup > 0) plan.lr.push_back(schedule("warmup", "length", warmup));
  return plan;
}

/// A plateau schedule that goes by the loss.
inline StatefulSchedule plateau(const std::vector<std::pair<std::string, Value>>& values,
                                const std::string& optim = "") {
  return {"plateau", optim, "lr",
          std::make_shared<TimedSchedule>(schedule_table("plateau", values), 1, 1000,
                                          ScheduleInput{.metric = "loss", .lower_wins = true})};
}

}  // namespace flowtrain::testing
