// What changed between two configurations, and whether a run can go on with it bit for bit.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// Keys that decide the parameters, sample by sample and step by step. A whole table by its name.
const std::set<std::string> exact = {"net",
                                     "loss",
                                     "optim",
                                     "group",
                                     "schedule",
                                     "lr",
                                     "lr.warmup",
                                     "train",
                                     "step",
                                     "hook",
                                     "ema",
                                     "data",
                                     "data.train",
                                     "data.source",
                                     "sampler",
                                     "batch_augment",
                                     "batch_augment.color",
                                     "batch_augment.erase",
                                     "order",
                                     "run.seed",
                                     "run.threads",
                                     "run.deterministic",
                                     "run.cudnn",
                                     "loader.batch",
                                     "loader.last_batch",
                                     "loader.cache_mb",
                                     "dist.same_draws"};

/// Exceptions within those tables: used at the start of a run only, or deciding only whether it stops.
const std::set<std::string> harmless = {"net.pretrain",
                                        "net.sha256",
                                        "net.strict",
                                        "net.pretrain_drop",
                                        "net.pretrain_rename",
                                        "net.pretrain_key",
                                        "data.bad",
                                        "data.max_bad",
                                        "data.train.bad",
                                        "data.train.max_bad",
                                        "train.nonfinite",
                                        "train.max_nonfinite",
                                        "train.on_error",
                                        "train.max_skipped",
                                        "optim.label",
                                        "ema.validate",
                                        "data.source.name",
                                        "sampler.process",
                                        "sampler.process_timeout",
                                        "sampler.check_every",
                                        "sampler.slow_us"};

/// Whether a [[hook]] changes nothing that is computed.
bool observes_only(const Settings& hook) { return part_kind("hook", "name")->at(hook.text("name")).observes_only; }

bool breaks(const std::string& table, const std::string& key) {
  auto full = table + "." + key;
  return (exact.contains(table) || exact.contains(full)) && !harmless.contains(full);
}

/// Beside those: what decides what processes that train together do together, and when.
const std::set<std::string> joint = {"run.max_iter", "run.max_epochs", "train", "val",           "val.set",
                                     "metric",       "early_stop",     "best",  "display.every", "snapshot",
                                     "dist",         "data.val",       "verify"};

/// Exceptions within those tables: of one process or machine.
const std::set<std::string> own = {"val.workers", "dist.url", "dist.backend", "dist.timeout", "dist.max_restarts"};

bool is_common(const std::string& table, const std::string& key) {
  auto full = table + "." + key;
  return breaks(table, key) || ((joint.contains(table) || joint.contains(full)) && !own.contains(full));
}

/// What of a value a result depends on.
std::string effect_of(const std::string& key, const std::string& text) {
  return key == "loader.cache_mb" && text != "0" ? "pictures are decoded whole" : text;
}

/// Keys that name files, in whichever table they stand.
constexpr const char* file_keys[] = {"plugins", "script", "package", "pretrain", "weights_file"};

std::string text_of(const Settings& settings, const std::string& key) {
  return settings.has(key) ? to_toml(settings.value(key)) : "(none)";
}

/// Names of all keys of either, in the order of `now`.
std::vector<std::string> names_of(const Settings& before, const Settings& now) {
  std::vector<std::string> names;
  for (auto& key : now.keys()) names.push_back(key.name);
  for (auto& key : before.keys())
    if (!now.has(key.name)) names.push_back(key.name);
  return names;
}

/// Whether a key holds one path, said in two ways.
bool are_same_paths(const Settings& before, const Settings& now, const std::string& key) {
  const Key* known = find_key(now.keys(), key);
  if (!known || !known->is_path || known->kind != Kind::text || !before.has(key)) return false;
  const std::string &was = before.text(key), &is = now.text(key);
  std::error_code error;
  return !was.empty() && !is.empty() && std::filesystem::equivalent(was, is, error) && !error;
}

void compare(const std::string& table, const Settings& before, const Settings& now, std::vector<Difference>& found) {
  for (auto& key : names_of(before, now)) {
    auto full = table.empty() ? key : concat(table, ".", key);
    auto was = text_of(before, key), is = text_of(now, key);
    if (was != is && are_same_paths(before, now, key)) continue;
    if (was != is && full != "run.resume" && table != "resume")
      found.push_back({full, was, is, breaks(table, key) && effect_of(full, was) != effect_of(full, is)});
  }
}

using Entries = std::vector<const Settings*>;

/// Entry by entry, as schedule.0, schedule.1 …; [optim] alone keeps its name.
void compare_entries(const std::string& table, const Entries& was, const Entries& is, bool harmless,
                     std::vector<Difference>& found) {
  static const Settings none;
  for (std::size_t i = 0; i < std::max(was.size(), is.size()); ++i) {
    const Settings &one = i < was.size() ? *was[i] : none, &other = i < is.size() ? *is[i] : none;
    std::vector<Difference> changes;
    compare(table, one, other, changes);
    for (auto& change : changes) {
      if (harmless) change.breaks = false;
      if (is.size() > 1 || was.size() > 1) change.key = concat(table, ".", i, change.key.substr(table.size()));
      found.push_back(change);
    }
  }
}

/// Hooks that only look on are compared apart: they may come and go.
void compare_lists(const std::string& table, const Config& before, const Config& now, std::vector<Difference>& found) {
  for (const bool watching : {false, true}) {
    const auto entries = [&](const Config& config) {
      Entries all;
      for (auto& settings : config.list(table))
        if ((table == "hook" && observes_only(settings)) == watching) all.push_back(&settings);
      return all;
    };
    compare_entries(table, entries(before), entries(now), watching, found);
  }
}

/// What training and validation both see changed is told once, as [data].
void compare_data(const Config& before, const Config& now, std::vector<Difference>& found) {
  std::vector<Difference> train, val;
  compare("data.train", before.data(true), now.data(true), train);
  compare("data.val", before.data(false), now.data(false), val);
  auto key_of = [](const Difference& each) { return each.key.substr(each.key.rfind('.') + 1); };
  for (auto& each : train) {
    auto same = std::find_if(val.begin(), val.end(), [&](auto& other) {
      return key_of(other) == key_of(each) && other.was == each.was && other.is == each.is;
    });
    if (same != val.end()) {
      each.key = "data." + key_of(each);
      val.erase(same);
    }
    found.push_back(each);
  }
  found.insert(found.end(), val.begin(), val.end());
}

}  // namespace

std::vector<Difference> diff(const Config& before, const Config& now) {
  std::vector<Difference> found;
  for (auto& table : core_tables()) {
    if (table.name == "data")
      compare_data(before, now, found);
    else if (table.repeats != Repeats::no)
      compare_lists(table.name, before, now, found);
    else if (!table.name.starts_with("data."))
      compare(table.name, before.table(table.name), now.table(table.name), found);
  }
  return found;
}

std::map<std::string, std::string> common_values(const Config& config) {
  std::map<std::string, std::string> values;
  const auto add = [&](const std::string& table, const Settings& settings, const std::string& reported) {
    for (auto& key : settings.keys())
      if (is_common(table, key.name))
        values[reported + "." + key.name] = effect_of(table + "." + key.name, text_of(settings, key.name));
  };
  for (auto& table : core_tables()) {
    if (table.repeats != Repeats::no) {
      std::size_t acting = 0;  // hooks, counted without those that only look on
      for (auto& settings : config.list(table.name)) {
        if (table.name != "hook")
          add(table.name, settings, settings.table());
        else if (!observes_only(settings))
          add(table.name, settings, concat("hook.", acting++));
      }
    } else if (!table.name.starts_with("data"))
      add(table.name, config.table(table.name), table.name);
  }
  values["run.plugins"] = join(config.table("run").texts("plugins"), ", ", [](auto& path) {
    return std::filesystem::path(path).filename().string();  // each host may have them at another place
  });
  add("data.train", config.data(true), config.data(true).table());
  add("data.val", config.data(false), "data.val");
  return values;
}

std::vector<NamedFile> files_of(const Config& config) {
  std::vector<NamedFile> files;
  const auto add = [&](const std::string& table, const Settings& settings) {
    for (const char* key : file_keys) {
      if (!settings.has(key)) continue;
      const std::string place = settings.table() + "." + key;
      // What run.plugins add may be anything that is chosen by name.
      const bool decides = breaks(table, key) || place == "run.plugins";
      const Value& value = settings.value(key);
      if (const auto* paths = std::get_if<std::vector<std::string>>(&value))
        for (std::map<std::string, int> named; auto& path : *paths) {  // by name: the order of plugins does not matter
          const std::string name = std::filesystem::path(path).filename();
          const int earlier = named[name]++;
          files.push_back({concat(place, ".", name, earlier > 0 ? concat(".", earlier) : ""), path, decides});
        }
      const auto* path = std::get_if<std::string>(&value);
      if (path && !path->empty() && path->find("://") == path->npos) files.push_back({place, *path, decides});
    }
  };
  for (auto& table : core_tables()) {
    if (table.repeats != Repeats::no)
      for (auto& settings : config.list(table.name)) add(table.name, settings);
    else if (!table.name.starts_with("data"))
      add(table.name, config.table(table.name));
  }
  return files;
}

}  // namespace flowtrain
