#include "pipeline/validation/early_stop.h"

#include <algorithm>
#include <cmath>

#include "pipeline/config/metric_rules.h"
#include "sampling/core/say.h"
#include "sampling/core/settings.h"

namespace flowtrain {

Improvement Improvement::from(const Settings& table, const Config& config) {
  const auto [metric, lower_wins] = ruled_figure(table, config);
  return {metric, table.real("min_delta"), table.boolean("relative"), lower_wins};
}

bool Improvement::enter(std::optional<double>& best, const Figures& figures) const {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](auto& figure) { return figure.first == metric; });
  if (found == figures.end() || !std::isfinite(found->second)) return false;
  const double value = found->second, margin = best ? min_delta * (relative ? std::abs(*best) : 1) : 0;
  if (best && !(lower_wins ? value < *best - margin : value > *best + margin)) return false;
  best = value;
  return true;
}

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
