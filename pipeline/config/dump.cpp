// The resolved configuration as a file.

#include <algorithm>

#include "pipeline/config/config.h"
#include "pipeline/config/keys.h"

namespace flowtrain {
namespace {

/// A comment must end with its line, whatever a file is called.
std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

/// Whether a key that [data] does not give may be written there: not where one of the two data sets has its own value.
bool is_shared(const Config& config, const std::string& key, const Value& value) {
  auto agrees = [&](const Settings& data) { return !data.has(key) || (!data.given(key) && data.value(key) == value); };
  return agrees(config.data(true)) && agrees(config.data(false));
}

std::string written(const Settings& settings, const std::string& key) {
  return key + " = " + to_toml(settings.value(key)) + "  # " + one_line(settings.origin(key).text()) + "\n";
}

}  // namespace

std::string to_toml(const Config& config) {
  std::string text;
  for (auto& [name, help, keys] : core_tables()) {
    auto& settings = config.table(name);
    bool refines = name.starts_with("data.");  // these hold only what differs from [data]
    std::string lines;
    for (auto& key : settings.keys()) {
      bool shown = settings.given(key.name) || !refines;
      if (name == "data" && !settings.given(key.name)) shown = is_shared(config, key.name, settings.value(key.name));
      if (shown) lines += written(settings, key.name);
    }
    if (!name.empty() && !lines.empty()) text += "\n[" + name + "]\n";
    text += lines;
  }
  return text;
}

}  // namespace flowtrain
