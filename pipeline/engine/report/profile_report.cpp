#include "pipeline/engine/report/profile_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/engine/report/trace.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

/// Shares of the phases by their names, 0 … 1, and of the rest ("other").
using PhaseShares = std::vector<std::pair<std::string, double>>;
using Costs = std::map<std::string, Profile::Cost>;

constexpr std::size_t most_listed = 10;

Phase phase_at(std::size_t index) { return static_cast<Phase>(index); }

std::string milliseconds(double duration_s) {
  return printed(duration_s < 0.1 ? "%.3f ms" : "%.0f ms", duration_s * 1e3);
}

// Returns the shares of each process. A collective.
std::vector<PhaseShares> shares_of_all(const PhaseShares& own, Group& group) {
  std::vector<PhaseShares> all;
  for (auto& each : group.gather("the profiles of all ranks", json_text(nlohmann::json(own))))
    all.push_back(nlohmann::json::parse(each));
  return all;
}

// Returns "  most: 31.0 %, rank 2".
std::string most_of(const std::vector<PhaseShares>& all, std::size_t row) {
  if (all.size() < 2) return {};
  const auto most = std::ranges::max_element(all, {}, [row](auto& shares) { return shares.at(row).second; });
  return printed("  most: %.1f %%, rank %td", 100 * most->at(row).second, most - all.begin());
}

void add_costs(const Profile& profile, const Costs& costs, const std::string& title, std::vector<std::string>& lines) {
  if (costs.empty()) return;
  double sum_s = 0;
  for (auto& [name, cost] : costs) sum_s += cost.sum_s();
  sum_s = std::max(sum_s, 1e-12);
  std::vector<std::pair<std::string, Profile::Cost>> most_expensive(costs.begin(), costs.end());
  std::ranges::stable_sort(most_expensive, std::greater(), [](auto& each) { return each.second.sum_s(); });
  if (most_expensive.size() > most_listed) most_expensive.resize(most_listed);
  const auto iterations = static_cast<double>(std::max<std::uint64_t>(profile.recorded(), 1));
  lines.push_back(printed("%-44s %7s %9s %12s %12s", title.c_str(), "share", "calls", "forward", "backward"));
  for (auto& [name, cost] : most_expensive)
    lines.push_back(printed("%-44.44s %5.1f %% %9.4g %12s %12s", name.c_str(), 100 * cost.sum_s() / sum_s,
                            static_cast<double>(cost.calls) / iterations,
                            milliseconds(cost.forward_s / iterations).c_str(),
                            milliseconds(cost.backward_s / iterations).c_str()));
}

PhaseShares phase_shares(const Profile& profile) {
  const double wall_s = std::max(profile.wall_s(), 1e-12);
  PhaseShares shares;
  double rest = 1;
  for (std::size_t i = 0; i < phases; ++i) {
    const double share = profile.of(phase_at(i)).total_s() / wall_s;
    shares.emplace_back(to_text(phase_at(i)), share);
    rest -= share;
  }
  shares.emplace_back("other", std::max(rest, 0.0));
  return shares;
}

std::vector<std::string> profile_lines(const Profile& profile, const std::vector<PhaseShares>& all) {
  const auto own = phase_shares(profile);
  std::vector<std::string> lines;
  lines.push_back(
      concat("profile: ", format_count(profile.iterations()), " iterations in ", format_duration(profile.wall_s()),
             profile.recorded() > 0 ? concat("; ", profile.recorded(), " others were recorded in detail") : ""));
  lines.push_back(printed("%-14s %7s %9s %11s %11s %11s", "phase", "share", "times", "mean", "p50", "p95"));
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto& [name, share] = own[i];
    std::string line = printed("%-14s %5.1f %%", name.c_str(), 100 * share);
    if (i < phases) {  // the rest has no durations
      const Durations& durations = profile.of(phase_at(i));
      if (durations.count() == 0) continue;
      line += printed(" %9s %11s %11s %11s", format_count(durations.count()).c_str(),
                      milliseconds(durations.mean_s()).c_str(), milliseconds(durations.percentile_s(0.5)).c_str(),
                      milliseconds(durations.percentile_s(0.95)).c_str());
    }
    lines.push_back(line + most_of(all, i));
  }
  add_costs(profile, profile.operations(),
            concat("operation, in iterations ", profile.window_first(), " to ",
                   profile.window_first() + profile.recorded() - 1),
            lines);
  add_costs(profile, profile.layers(), "layer, with the operations after it", lines);
  return lines;
}

}  // namespace

void tell_profile(const Profile& profile, Group& group, MetricsFile* metrics, std::uint64_t iteration) {
  const auto all = shares_of_all(phase_shares(profile), group);
  for (auto& line : profile_lines(profile, all)) log_info(line);
  if (!group.leads() || !metrics) return;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    JsonObject fields{{"iter", iteration}};
    if (all.size() > 1) fields["rank"] = rank;
    for (auto& [name, share] : all[rank]) fields[name] = share;
    metrics->write("profile", fields);
  }
  const auto path = metrics->path().parent_path() / "trace.json";
  try {
    write_file_atomically(path, trace_json(profile));
    log_info(
        concat("trace of ", profile.recorded(), " iterations: ", path.string(), " (https://ui.perfetto.dev shows it)"));
  } catch (const UserError& error) {
    log_warn(error.what());
  }
}

}  // namespace flowtrain
