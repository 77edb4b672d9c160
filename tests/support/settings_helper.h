#pragma once
// Settings for tests, as a configuration file would fill them.

#include <string>
#include <utility>
#include <vector>

#include "sampling/core/settings.h"

namespace flowtrain {

/// Settings of `table` with `keys` and the two keys that every data set gets, `path` and `split`; `values` are set as
/// if written at test.toml:1:1.
inline Settings settings_for(std::vector<Key> keys, const std::vector<std::pair<std::string, Value>>& values = {},
                             const std::string& table = "data") {
  keys.push_back({"path", Kind::text, std::string(), "the data set's folder"});
  keys.push_back({"split", Kind::text, std::string(), "the part of it"});
  Settings settings(table, std::move(keys));
  for (const auto& [name, value] : values) settings.set(name, value, {"test.toml", 1, 1});
  return settings;
}

/// Returns the keys of an entry and the key `name`, whose value is the entry's, as in its table of a configuration.
template <class Entry>
std::vector<Key> with_name(const Entry& entry) {
  auto keys = entry.keys;
  keys.push_back({"name", Kind::text, entry.name, "the part"});
  return keys;
}

}  // namespace flowtrain
