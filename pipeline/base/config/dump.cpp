// The resolved configuration as a file.

#include <algorithm>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/env_variables.h"
#include "pipeline/base/config/keys.h"
#include "sampling/core/settings.h"

namespace flowtrain {
namespace {

/// Replaces line breaks in the name of a file, as a comment must end with its line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

/// Returns whether a key that [data] does not give may be written there: neither data set has a value of its own.
bool is_shared(const Config& config, const std::string& key, const Value& value) {
  auto agrees = [&](const Settings& data) { return !data.has(key) || (!data.given(key) && data.value(key) == value); };
  return agrees(config.data(true)) && agrees(config.data(false));
}

/// Returns whether a key is written into this one of [data], [data.train] and [data.val].
bool is_shown(const Config& config, const Settings& settings, const std::string& key) {
  const bool given = settings.given(key), several = !config.list("data.source").empty();
  if (settings.table() != "data") {
    // Several sources share nothing with validation, whose keys are written into [data.val].
    const bool whole = several && settings.table() == "data.val" && !config.data(false).text("dataset").empty();
    return given || (whole && !is_of_loader(key));
  }
  if (several && !is_of_loader(key)) return false;
  return given || is_shared(config, key, settings.value(key));
}

std::string written(const Settings& settings, const std::string& key) {
  return key + " = " + to_toml(as_written(settings, key)) + "  # " + one_line(settings.origin(key).text()) + "\n";
}

/// Writes all tables of a name, such as [[schedule]]; a single [optim] stays a table.
std::string list_to_toml(const Config& config, const KeyTable& table) {
  const auto& list = config.list(table.name);
  std::string text;
  for (auto& settings : list) {
    text += settings.table() == table.name ? "\n[" + table.name + "]\n" : "\n[[" + table.name + "]]\n";
    for (auto& key : settings.keys()) text += written(settings, key.name);
  }
  return text;
}

}  // namespace

std::string to_toml(const Config& config) {
  std::string text;
  for (auto& table : core_tables()) {
    const auto& name = table.name;
    if (table.repeats != Repeats::no) {
      text += list_to_toml(config, table);
      continue;
    }
    if (name.starts_with("lr") && !config.list("schedule").empty()) continue;  // one or the other
    auto& settings = config.table(name);
    std::string lines;
    for (auto& key : settings.keys())
      if (!name.starts_with("data") || is_shown(config, settings, key.name)) lines += written(settings, key.name);
    if (!name.empty() && !lines.empty()) text += "\n[" + name + "]\n";
    text += lines;
  }
  return text;
}

}  // namespace flowtrain
