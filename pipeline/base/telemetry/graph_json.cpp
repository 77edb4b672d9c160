#include "pipeline/base/telemetry/graph_json.h"

#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/secrets_in_json.h"

namespace flowtrain {

using nlohmann::ordered_json;

std::string graph_json(const Drawing& drawing, const RunShape& shape) {
  ordered_json nodes = ordered_json::array(), edges = nodes;
  for (auto& [name, label, thread] : drawing.nodes)
    nodes.push_back({{"name", name}, {"label", label}, {"thread", thread}});
  for (auto& [from, to, label] : drawing.edges) edges.push_back({{"from", from}, {"to", to}, {"label", label}});
  ordered_json metrics = ordered_json::object(), best = metrics;
  const auto mode_of = [](const RuledMetric& metric) { return metric.lower_wins ? "min" : "max"; };
  for (auto& metric : shape.metrics) metrics[metric.name] = mode_of(metric);
  for (auto& [link, metric] : shape.best) best[link] = {{"metric", metric.name}, {"mode", mode_of(metric)}};
  const bool whole = !shape.epoch.off() && shape.epoch.length % shape.epoch.parts == 0;
  const ordered_json length =
      whole ? ordered_json(shape.epoch.length / shape.epoch.parts) : ordered_json(shape.epoch.mean_length());
  ordered_json graph{{"iterations_per_epoch", length}, {"last_iteration", shape.last_iteration},
                     {"batch", shape.batch},           {"metrics", std::move(metrics)},
                     {"best", std::move(best)},        {"nodes", std::move(nodes)},
                     {"edges", std::move(edges)}};
  mask_secrets(graph);
  return json_text(graph, 2) + "\n";
}

}  // namespace flowtrain
