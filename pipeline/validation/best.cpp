#include "pipeline/validation/best.h"

#include <algorithm>
#include <cmath>

#include "pipeline/config/metric_rules.h"

namespace flowtrain {

std::optional<std::size_t> BestRule::enter(Rankings& rankings, std::uint64_t iteration, const Scalars& scalars) const {
  const auto found = std::find_if(scalars.begin(), scalars.end(), [&](auto& scalar) { return scalar.first == metric; });
  if (found == scalars.end() || !std::isfinite(found->second)) return {};
  auto& ranking = rankings[link];
  const auto better = [&](const Ranked& a, const Ranked& b) {
    return lower_wins ? a.value < b.value : a.value > b.value;
  };
  const Ranked entry{iteration, found->second};
  const auto place = std::upper_bound(ranking.begin(), ranking.end(), entry, better);
  const auto rank = static_cast<std::size_t>(place - ranking.begin()), most = std::max<std::size_t>(keep, 1);
  if (rank == most) return {};
  ranking.insert(place, entry);
  if (ranking.size() > most) ranking.pop_back();
  return rank;
}

const Ranked* BestRule::best(const Rankings& rankings) const {
  const auto found = rankings.find(link);
  return found == rankings.end() || found->second.empty() ? nullptr : &found->second.front();
}

std::vector<BestRule> BestRule::all(const Config& config) {
  std::vector<BestRule> rules;
  for (auto& table : config.list("best")) {
    const auto [metric, lower_wins] = ruled_metric(table, config);
    rules.push_back({metric, lower_wins, static_cast<std::size_t>(table.integer("keep")),
                     rules.empty() ? "best" : "best-" + metric});
  }
  if (rules.empty()) {
    const auto [metric, lower_wins] = ruling_metric(config);
    rules.push_back({metric, lower_wins, static_cast<std::size_t>(config.table("snapshot").integer("keep_best"))});
  }
  return rules;
}

std::vector<std::uint64_t> kept_by(const std::vector<BestRule>& rules, const Rankings& rankings) {
  std::vector<std::uint64_t> iterations;
  for (auto& rule : rules)
    if (const auto found = rankings.find(rule.link); found != rankings.end())
      for (std::size_t i = 0; i < std::min(std::max<std::size_t>(rule.keep, 1), found->second.size()); ++i)
        iterations.push_back(found->second[i].iteration);
  return iterations;
}

}  // namespace flowtrain
