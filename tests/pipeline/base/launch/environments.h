#pragma once
// The environments of launchers' ranks, as tests bring them.

#include <map>
#include <string>

#include "pipeline/base/launch/rank_info.h"

namespace flowtrain::testing {

using Values = std::map<std::string, std::string>;

inline Environment environment_of(Values values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

/// `values` with `changes`; an empty value takes a variable away.
inline Values with(Values values, const Values& changes) {
  for (const auto& [name, value] : changes) values[name] = value;
  for (const auto& [name, value] : changes) {
    if (value.empty()) values.erase(name);
  }
  return values;
}

/// Where a process stands whose machine has no GPU.
inline Launch place_in(const Values& values, const LaunchOptions& options = {}) {
  return find_place(options, environment_of(values), 0);
}

/// The same for a rank.
inline RankInfo rank_in(const Values& values, const LaunchOptions& options = {}) {
  return std::get<RankInfo>(place_in(values, options));
}

}  // namespace flowtrain::testing
