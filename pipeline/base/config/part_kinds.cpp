#include "pipeline/base/config/part_kinds.h"

#include <algorithm>

#include "nets/entries.h"
#include "pipeline/base/config/keys.h"
#include "pipeline/base/schedules/schedule.h"
#include "sampling/dataset.h"
#include "sampling/order.h"
#include "sampling/sampler.h"
#include "sampling/transform.h"
#include "stages/detection/detector_entries.h"
#include "stages/hooks/hook_entries.h"

namespace flowtrain {
namespace {

template <class Registry>
PartFacts facts_of(const Registry& registry, const std::string& name) {
  const auto& entry = registry.at(name);
  return {entry.help, entry.keys, entry.check};
}

/// Removes an entry from `registry`, so that its name is free. Parts that it has made remain valid.
template <class Registry>
void remove_from(Registry& registry, const std::string& name) {
  Registry rest(registry.kind());
  for (auto& each : registry.names())
    if (each != name) rest.add(registry.at(each));
  registry = std::move(rest);
}

template <class Registry>
PartKind kind_of(const char* table, const char* key, const char* title, Registry& registry) {
  return {table,
          key,
          title,
          registry.kind(),
          [&registry] { return registry.names(); },
          [&registry](const std::string& name) { return facts_of(registry, name); },
          [&registry](const std::string& name) { remove_from(registry, name); }};
}

std::vector<PartKind> all_kinds() {
  std::vector<PartKind> kinds = {
      kind_of("data", "dataset", "data sets (data.dataset)", datasets()),
      kind_of("data.source", "dataset", "", datasets()),
      kind_of("data.source", "order", "", orders()),
      kind_of("val.set", "dataset", "", datasets()),
      kind_of("test.set", "dataset", "", datasets()),
      kind_of("sampler", "name", "samplers (sampler.name)", samplers()),
      kind_of("field", "as", "transforms (field.as)", transforms()),
      kind_of("order", "name", "orders (order.name)", orders()),
      kind_of("net", "name", "nets (net.name)", nets::nets()),
      kind_of("loss", "name", "losses (loss.name)", nets::losses()),
      kind_of("optim", "name", "optimizers (optim.name)", nets::optimizers()),
      kind_of("schedule", "name", "schedules (schedule.name)", schedules()),
      kind_of("step", "name", "training steps (step.name)", nets::steps()),
      kind_of("hook", "name", "hooks (hook.name)", hooks()),
      kind_of("metric", "name", "metrics (val.metrics, metric.name)", nets::metrics()),
      kind_of("detect", "name", "detectors (detect.name)", detectors()),
  };
  for (auto& kind : kinds) {
    if (kind.table == "hook")
      kind.at = [](const std::string& name) {
        PartFacts facts = facts_of(hooks(), name);
        facts.observes_only = hooks().at(name).traits.observes_only;
        return facts;
      };
    if (kind.table == "metric")
      kind.at = [](const std::string& name) {
        return facts_of(nets::metrics(), nets::top_of(name) > 0 ? "topN" : name);  // top5, say
      };
  }
  return kinds;
}

}  // namespace

const std::vector<PartKind>& part_kinds() {
  static const std::vector<PartKind> kinds = all_kinds();
  return kinds;
}

const PartKind* part_kind(const std::string& table, const std::string& key) {
  const auto& all = part_kinds();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](auto& each) { return each.table == table && each.key == key; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<Key> keys_with(const std::string& table, const std::string& name) {
  auto keys = joined(core_keys(table), part_kind(table, "name")->at(name).keys);
  for (auto& key : keys)
    if (key.name == "name") key.fallback = name;
  return keys;
}

}  // namespace flowtrain
