#pragma once
// Rates for tests that need some.

#include "pipeline/config/keys.h"
#include "pipeline/graph/rates.h"
#include "sampling/core/registry.h"

namespace flowtrain::testing {

/// 0.1, divided by ten every `stepsize` iterations, after a warm-up of `warmup`.
inline RatePlan stepwise(std::int64_t stepsize, std::int64_t warmup = 0) {
  const auto curve = [](const char* kind, const char* key, std::int64_t value) {
    Settings settings("schedule", joined(core_keys("schedule"), curves().at(kind).keys));
    settings.set("name", std::string(kind), {});
    settings.set(key, value, {});
    return std::make_shared<const ScheduledCurve>(settings, 1, 1000);
  };
  RatePlan plan;
  plan.base.lr = 0.1;
  plan.lr = {curve("step", "stepsize", stepsize)};
  if (warmup > 0) plan.lr.push_back(curve("warmup", "t", warmup));
  return plan;
}

}  // namespace flowtrain::testing
