#include "pipeline/validation/early_stop.h"

#include "sampling/core/say.h"
#include "sampling/core/settings.h"

namespace flowtrain {

EarlyStop EarlyStop::from(const Config& config) {
  const Settings& table = config.table("early_stop");
  return {Improvement::from(table, config), static_cast<std::uint64_t>(table.integer("patience")), table.real("hours")};
}

void EarlyStop::enter(EarlyStopState& state, const Figures& figures) const {
  if (improvement.enter(state.best, figures))
    state.since = 0;
  else
    ++state.since;
}

std::string EarlyStop::reason(const EarlyStopState& state) const {
  if (patience == 0 || state.since < patience) return {};
  return say(improvement.metric, " has not improved in ", state.since, " validations",
             state.best ? say(" (best: ", *state.best, ")") : std::string(), ": early_stop.patience");
}

std::string EarlyStop::out_of_time_text() const { return say(hours, " hours of training are over: early_stop.hours"); }

}  // namespace flowtrain
