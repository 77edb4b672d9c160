// Compares two configurations, and says whether a run continues exactly with the changes.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/decides.h"
#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// Returns whether a [[hook]] changes nothing that is computed.
bool observes_only(const Settings& hook) { return part_kind("hook", "name")->at(hook.text("name")).observes_only; }

bool breaks(const std::string& table, const std::string& key) {
  return breaks_resume(decided_by(concat(table, ".", key)));
}

/// Returns the part of a value on which results depend.
std::string effect_of(const std::string& key, const std::string& text) {
  return key == "loader.cache_mb" && text != "0" ? "pictures are decoded whole" : text;
}

/// The keys that name files, or folders of them, in whichever table they stand.
constexpr const char* file_keys[] = {"plugins",        "script",     "package", "pretrain", "weights_file",
                                     "language_model", "statistics", "noise",   "reverb",   "tokenizer"};

std::string text_of(const Settings& settings, const std::string& key) {
  return settings.has(key) ? to_toml(settings.value(key)) : "(none)";
}

/// Returns the keys of both, in the order of `now`.
std::vector<Key> keys_of(const Settings& before, const Settings& now) {
  std::vector<Key> keys = now.keys();
  std::ranges::copy_if(before.keys(), std::back_inserter(keys), [&](auto& key) { return !now.has(key.name); });
  return keys;
}

/// Returns whether a key holds one path, written in two ways.
bool are_same_paths(const Settings& before, const Settings& now, const Key& key) {
  if (!key.is_path || key.kind != Kind::text || !before.has(key.name) || !now.has(key.name)) return false;
  const std::string &was = before.text(key.name), &is = now.text(key.name);
  std::error_code error;
  return !was.empty() && !is.empty() && std::filesystem::equivalent(was, is, error) && !error;
}

/// Returns whether a key names a local file on both sides, whose contents are compared in place of its path.
bool are_files(const std::string& key, const Settings& before, const Settings& now) {
  if (std::ranges::find(file_keys, key) == std::end(file_keys)) return false;
  const auto names_file = [&](const Settings& settings) {
    const auto* path = settings.has(key) ? std::get_if<std::string>(&settings.value(key)) : nullptr;
    return path && !path->empty() && *path != "bytes" && path->find("://") == path->npos;
  };
  std::error_code ignored;
  return names_file(before) && names_file(now) && std::filesystem::exists(now.text(key), ignored);
}

void compare(const std::string& table, const Settings& before, const Settings& now, std::vector<Difference>& found) {
  for (auto& key : keys_of(before, now)) {
    const auto full = table.empty() ? key.name : concat(table, ".", key.name);
    const auto was = text_of(before, key.name), is = text_of(now, key.name);
    if (was == is || are_same_paths(before, now, key) || has(decided_by(full), Decides::start)) continue;
    found.push_back(
        {full, was, is,
         breaks(table, key.name) && !are_files(key.name, before, now) && effect_of(full, was) != effect_of(full, is)});
  }
}

using Entries = std::vector<const Settings*>;

/// Compares entry by entry, as schedule.0, schedule.1 …; a single [optim] keeps its name.
void compare_entries(const std::string& table, const Entries& was, const Entries& is, bool harmless,
                     std::vector<Difference>& found) {
  static const Settings none;
  for (std::size_t i = 0; i < std::max(was.size(), is.size()); ++i) {
    const Settings &one = i < was.size() ? *was[i] : none, &other = i < is.size() ? *is[i] : none;
    std::vector<Difference> changes;
    compare(table, one, other, changes);
    for (auto& change : changes) {
      if (harmless) change.breaks = false;
      change.key = concat(i < is.size() ? other.table() : one.table(), change.key.substr(table.size()));
      found.push_back(change);
    }
  }
}

/// Compares hooks that only observe apart from the others, as they may come and go.
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

/// Reports a change that training and validation share once, as one of [data].
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
      if (breaks(table, key.name) || has(decided_by(concat(table, ".", key.name)), Decides::joint))
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
  values["run.plugins"] = join(*config.run().plugins, ", ", [](auto& path) {
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
      // A plugin may add anything that is chosen by name.
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
