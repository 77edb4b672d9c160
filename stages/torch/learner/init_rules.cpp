#include "stages/torch/learner/init_rules.h"

#include <ATen/Parallel.h>

#include <stdexcept>

#include "nets/models/init.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/torch/learner/name_patterns.h"

namespace flowtrain {

namespace {

nets::InitRule init_rule_of(const Settings& settings) {
  nets::InitRule rule;
  rule.name = settings.text("rule");
  rule.value = settings.real("value");
  rule.mean = settings.real("mean");
  rule.std = settings.real("std");
  rule.range = settings.reals("range");
  rule.gain = settings.real("gain");
  rule.fan_out = settings.text("mode") == "fan_out";
  rule.nonlinearity = settings.text("nonlinearity");
  rule.negative_slope = settings.real("negative_slope");
  return rule;
}

// While it lives, torch computes on one thread: how a decomposition (orthogonal) rounds depends on how it is shared
// out.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

void apply_init_rules(const std::vector<Settings>& rules, const nets::NamedTensors& parameters) {
  if (rules.empty()) return;
  const OneThread alone;
  NamePatterns patterns(rules);
  for (const auto& [name, parameter] : parameters) {
    const auto matching = patterns.matching(name);
    if (matching.empty()) continue;
    const Settings& rule = rules[matching.back()];
    try {
      nets::initialise(parameter, init_rule_of(rule));
    } catch (const std::invalid_argument& error) {
      throw rule.error("rule", concat("parameter ", name, ": ", error.what()), ExitCode::usage,
                       "narrow params, or give another [[net.init]] after this one for what it cannot set");
    }
  }
  patterns.check_used(parameters);
}

}  // namespace flowtrain
