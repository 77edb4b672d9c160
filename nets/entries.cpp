#include "nets/entries.h"

#include "sampling/core/parse.h"

namespace flowtrain::nets {

#define FLOWTRAIN_FILE(file) void FLOWTRAIN_ENTRIES(file)(Parts&);
#include "nets/list.h"
#undef FLOWTRAIN_FILE

namespace {

struct Registries {
  Registry<Net, NetInput> nets{"net"};
  Registry<Loss, LossInput> losses{"loss"};
  Registry<Optimizer, OptimizerInput> optimizers{"optimizer"};
  Registry<Metric, MetricInput> metrics{"metric"};
  Registry<Step, StepInput> steps{"training step"};
};

// The registries are never destroyed: entries of plugins may outlive what the end of a program destroys.
Registries& registries() {
  static Registries& all = *[] {
    auto* const made = new Registries;
    Parts parts{{made->nets, false},
                {made->losses, false},
                {made->optimizers, false},
                {made->metrics, false},
                {made->steps, false}};
#define FLOWTRAIN_FILE(file) FLOWTRAIN_ENTRIES(file)(parts);
#include "nets/list.h"
#undef FLOWTRAIN_FILE
    return made;
  }();
  return all;
}

}  // namespace

Registry<Net, NetInput>& nets() { return registries().nets; }
Registry<Loss, LossInput>& losses() { return registries().losses; }
Registry<Optimizer, OptimizerInput>& optimizers() { return registries().optimizers; }
Registry<Metric, MetricInput>& metrics() { return registries().metrics; }
Registry<Step, StepInput>& steps() { return registries().steps; }

std::int64_t top_of(const std::string& name) {
  if (!name.starts_with("top")) return 0;
  const auto digits = std::string_view(name).substr(3);
  const auto k = parse_number<std::int64_t>(digits);
  return k && !digits.starts_with('0') && *k > 0 ? *k : 0;
}

const MetricEntry* find_metric(const std::string& name) {
  if (top_of(name) > 0) return &metrics().at("topN");
  return metrics().has(name) && name != "topN" ? &metrics().at(name) : nullptr;
}

}  // namespace flowtrain::nets
