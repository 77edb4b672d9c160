#include "pipeline/engine/validation/early_stop.h"

#include "pipeline/base/config/metric_rules.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

EarlyStop EarlyStop::from(const Config& config) {
  const Settings& table = config.table("early_stop");
  return {improvement_of(table, config), static_cast<std::uint64_t>(table.integer("patience")), table.real("hours")};
}

void EarlyStop::record(EarlyStopState& state, const Scalars& scalars) const {
  if (compares_another(state)) state = {};
  if (improvement.record(state.best, scalars))
    state.since = 0;
  else
    ++state.since;
}

std::string EarlyStop::reason(const EarlyStopState& state) const {
  if (patience == 0 || state.since < patience || compares_another(state)) return {};
  return concat(improvement.of.name, " has not improved in ", state.since, " validations",
                state.best ? concat(" (best: ", state.best->value, ")") : std::string(), ": early_stop.patience");
}

std::string EarlyStop::out_of_time_text() const {
  return concat(hours, " hours of training are over: early_stop.hours");
}

}  // namespace flowtrain
