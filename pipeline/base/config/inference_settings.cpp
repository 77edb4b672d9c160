#include "pipeline/base/config/inference_settings.h"

#include <algorithm>

#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr char divider = '|';

std::string origin_of(const Settings& table) {
  return concat(table.table(), ".set (", table.origin("set").text(), ")");
}

Override parsed(const Settings& table, const std::string& change) {
  if (const auto equals = change.find('='); equals == std::string::npos || equals == 0)
    throw table.error("set", concat("'", change, "': expected key=value"), ExitCode::usage, "\"sampler.size=96\", say");
  Override override = parse_set(change);
  override.origin = origin_of(table);
  return override;
}

std::vector<std::string> divided(const std::string& values) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= values.size();) {
    const auto end = std::min(values.find(divider, begin), values.size());
    all.push_back(values.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

// Returns "size=64" for "sampler.size=64".
std::string short_name(const Override& change) {
  std::string name = concat(change.key.substr(change.key.rfind('.') + 1), "=", change.value);
  std::ranges::replace(name, '/', '_');
  return name;
}

// Returns the settings of one [[test.sweep]]. The keys change together; one with a single value keeps it; all values
// are part of the name.
std::vector<InferenceSetting> alternatives(const Settings& sweep) {
  std::vector<InferenceSetting> all;
  if (sweep.texts("set").empty())
    throw sweep.error("set", "it is empty: there is nothing to sweep", ExitCode::usage,
                      "[\"sampler.size=64|96\"], say");
  for (auto& change : sweep.texts("set")) {
    const Override whole = parsed(sweep, change);
    const auto values = divided(whole.value);
    if (all.size() <= 1) all.resize(values.size(), all.empty() ? InferenceSetting() : all.front());
    if (values.size() != 1 && values.size() != all.size())
      throw sweep.error("set", concat("'", change, "' has ", values.size(), " values, a key before it ", all.size()),
                        ExitCode::usage, "keys of one [[test.sweep]] change together; those of several are combined");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Override one{whole.key, values[values.size() > 1 ? i : 0], whole.origin};
      all[i].name += concat(all[i].name.empty() ? "" : ",", short_name(one));
      all[i].overrides.push_back(one);
    }
  }
  return all;
}

std::vector<InferenceSetting> combined(const std::vector<InferenceSetting>& one,
                                       const std::vector<InferenceSetting>& other) {
  std::vector<InferenceSetting> all;
  for (auto& first : one)
    for (auto& second : other) {
      all.push_back(first);
      all.back().name += concat(first.name.empty() ? "" : ",", second.name);
      all.back().overrides.insert(all.back().overrides.end(), second.overrides.begin(), second.overrides.end());
    }
  return all;
}

}  // namespace

std::vector<InferenceSetting> inference_settings(const Config& config) {
  std::vector<InferenceSetting> all;
  for (auto& setting : config.list("test.setting")) {
    all.push_back({setting.text("name")});
    for (auto& change : setting.texts("set")) all.back().overrides.push_back(parsed(setting, change));
  }
  std::vector<InferenceSetting> swept(1);
  for (auto& sweep : config.list("test.sweep")) swept = combined(swept, alternatives(sweep));
  if (all.empty() || !config.list("test.sweep").empty()) all.insert(all.end(), swept.begin(), swept.end());
  return all;
}

}  // namespace flowtrain
