#include "pipeline/base/config/idle_keys.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/values/periods.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

bool is_on(const Value& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>)
          return held > 0;
        else
          return !held.empty();
      },
      value);
}

bool is_met(const Needs& needs, const Settings& settings, const Config& config) {
  const auto holds = [&](const Settings& table) {
    const Value& value = table.value(needs.key);
    return needs.value.empty() ? is_on(value) : value == Value(needs.value);
  };
  return holds(settings) || (!needs.or_list.empty() && std::ranges::any_of(config.list(needs.or_list), holds));
}

/// Adds notes on the keys of a table whose values are not the defaults although another key keeps them from being read.
void note_table(std::vector<std::string>& notes, const KeyTable& table, const Config& config) {
  for (auto& [decides, key, all_needs] : table.lines) {
    if (all_needs.empty()) continue;
    const Settings& settings = config.table(table.name);
    const auto missing = std::ranges::find_if(all_needs, [&](auto& needs) { return !is_met(needs, settings, config); });
    if (missing == all_needs.end() || settings.value(key.name) == key.fallback) continue;
    notes.push_back(concat(table.name, ".", key.name, " (", settings.origin(key.name).text(),
                           ") is not read: ", missing->key, " is ", to_toml(settings.value(missing->key)), " (",
                           settings.origin(missing->key).text(), ")"));
  }
}

}  // namespace

std::vector<std::string> idle_keys(const Config& config) {
  std::vector<std::string> notes;
  for (auto& table : core_tables()) note_table(notes, table, config);
  const auto metrics = config.val().metrics;
  for (auto& metric : config.list("metric"))
    if (std::ranges::find(*metrics, label_of(metric)) == metrics->end())
      notes.push_back(concat(metric.table(), " (", metric.origin("name").text(), ") is not measured: '",
                             label_of(metric), "' is not among val.metrics (", metrics.origin().text(), ")"));
  const auto snapshot = config.snapshot();
  const auto nonfinite = config.train().nonfinite;
  if (*nonfinite != "rollback") return notes;
  if (period(snapshot.every, /*by_clock=*/true).seconds() > 0)
    notes.push_back(concat("a rollback (train.nonfinite, ", nonfinite.origin().text(),
                           ") does not return to snapshots by the clock (snapshot.every, ",
                           snapshot.every.origin().text(),
                           "), as they come at other iterations each time: it returns to the start, or to the last "
                           "validation; a number of iterations keeps nearer points"));
  if (*snapshot.when_busy == "skip")
    notes.push_back(concat("snapshot.when_busy (", snapshot.when_busy.origin().text(),
                           ") is not read: rollbacks (train.nonfinite, ", nonfinite.origin().text(),
                           ") return to snapshots that were due, so none is left out"));
  return notes;
}

}  // namespace flowtrain
