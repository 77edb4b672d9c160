#include "pipeline/inference/evaluation/test_sets.h"

#include <algorithm>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

// Returns [data.test] and each [[test.set]].
std::vector<SetConfig> own_sets(const Config& config) {
  std::vector<SetConfig> sets;
  if (config.has_test_data()) sets.push_back({"test", config.with_validation_data(config.test_data())});
  for (auto& set : config.list("test.set")) sets.push_back({set.text("name"), config.with_validation_data(set)});
  return sets;
}

std::string names_of(const std::vector<SetConfig>& sets) {
  return join(sets, ", ", [](auto& set) { return shown_set(set.name); });
}

}  // namespace

std::vector<SetConfig> test_sets(const Config& config, const std::vector<std::string>& names) {
  std::vector<SetConfig> own = own_sets(config), all = validation_set_configs(config);
  if (names.empty()) return own.empty() ? all : own;
  all.insert(all.end(), own.begin(), own.end());
  std::vector<SetConfig> chosen;
  for (auto& name : names) {
    const auto is_called = [&](auto& set) { return shown_set(set.name) == name; };
    const auto found = std::ranges::count_if(all, is_called);
    if (found == 0)
      throw UserError(ExitCode::usage, concat("--sets ", name, ": this set does not exist"),
                      "the sets are: " + names_of(all));
    if (found > 1)
      throw UserError(ExitCode::usage, concat("--sets ", name, ": several sets have this name"),
                      "rename the [[val.set]] or the [[test.set]]");
    chosen.push_back(*std::ranges::find_if(all, is_called));
  }
  return chosen;
}

}  // namespace flowtrain
