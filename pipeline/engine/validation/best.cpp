#include "pipeline/engine/validation/best.h"

#include <algorithm>
#include <span>

#include "sampling/core/text.h"

namespace flowtrain {

std::optional<std::size_t> BestRule::record(Rankings& rankings, std::uint64_t iteration, const Scalars& scalars) const {
  const auto value = finite_value(scalars, of.name);
  if (!value) return {};
  auto& ranking = rankings.try_emplace(link, Ranking{of, {}}).first->second.entries;
  const auto better = [&](const Ranked& a, const Ranked& b) {
    return of.lower_wins ? a.value < b.value : a.value > b.value;
  };
  const Ranked entry{iteration, *value};
  const auto place = std::upper_bound(ranking.begin(), ranking.end(), entry, better);
  const auto rank = static_cast<std::size_t>(place - ranking.begin()), most = std::max<std::size_t>(keep, 1);
  if (rank == most) return {};
  ranking.insert(place, entry);
  if (ranking.size() > most) ranking.pop_back();
  return rank;
}

const Ranked* BestRule::best(const Rankings& rankings) const {
  const auto found = rankings.find(link);
  return found == rankings.end() || found->second.entries.empty() ? nullptr : &found->second.entries.front();
}

std::vector<BestRule> BestRule::all(const Config& config) {
  std::vector<BestRule> rules;
  for (auto& table : config.list("best")) {
    const RuledMetric of = ruled_metric(table, config);
    rules.push_back({of, static_cast<std::size_t>(table.integer("keep")), rules.empty() ? "best" : "best-" + of.name});
  }
  if (rules.empty()) rules.push_back({ruling_metric(config), static_cast<std::size_t>(*config.snapshot().keep_best)});
  return rules;
}

std::vector<BestRule> BestRule::by_loss() {
  std::vector<BestRule> rules(1);
  rules.front().of = {"loss", true};
  return rules;
}

std::vector<std::string> forget_other_metrics(const std::vector<BestRule>& rules, Rankings& rankings) {
  std::vector<std::string> lines;
  for (auto& rule : rules) {
    const auto found = rankings.find(rule.link);
    if (found == rankings.end() || found->second.of == rule.of) continue;
    lines.push_back(concat("'", rule.link, "' was ranked by ", describe(found->second.of), " and is now by ",
                           describe(rule.of), ": the ranking begins again"));
    rankings.erase(found);
  }
  return lines;
}

std::vector<std::uint64_t> kept_by(const std::vector<BestRule>& rules, const Rankings& rankings) {
  std::vector<std::uint64_t> iterations;
  for (auto& rule : rules)
    if (const auto found = rankings.find(rule.link); found != rankings.end())
      for (auto& entry : std::span(found->second.entries)
                             .first(std::min(std::max<std::size_t>(rule.keep, 1), found->second.entries.size())))
        iterations.push_back(entry.iteration);
  return iterations;
}

}  // namespace flowtrain
