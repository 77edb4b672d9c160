#include "pipeline/validation/plateau.h"

#include <algorithm>

namespace flowtrain {

std::vector<Plateau> Plateau::all(const Config& config) {
  std::vector<Plateau> all;
  for (auto& settings : config.list("schedule"))
    if (settings.text("name") == "plateau")
      all.push_back({Improvement::from(settings, config), static_cast<std::uint64_t>(settings.integer("patience")),
                     static_cast<std::uint64_t>(settings.integer("cooldown")), settings.real("decay_rate"),
                     settings.real("min_factor"), settings.text("optim"), settings.text("target")});
  return all;
}

bool Plateau::enter(PlateauState& state, const Figures& figures) const {
  if (improvement.enter(state.best, figures))
    state.since = 0;
  else
    ++state.since;
  if (state.cooldown > 0) {
    --state.cooldown;
    state.since = 0;
  }
  if (state.since <= patience) return false;
  const double before = state.factor;
  state.factor = std::max(state.factor / decay_rate, min_factor);
  state.cooldown = cooldown;
  state.since = 0;
  return state.factor != before;
}

void Plateau::apply(const PlateauState& state, const std::string& label, Rates& rates) const {
  if (!optim.empty() && optim != label) return;
  (target == "lr" ? rates.lr : target == "momentum" ? rates.momentum : rates.weight_decay) *= state.factor;
}

}  // namespace flowtrain
