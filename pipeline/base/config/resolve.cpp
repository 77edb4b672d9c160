#include "pipeline/base/config/resolve.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "pipeline/base/config/checks.h"
#include "pipeline/base/config/env_variables.h"
#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "pipeline/base/config/plugins.h"
#include "pipeline/base/config/precedence.h"
#include "sampling/core/settings.h"
#include "sampling/core/spelling.h"
#include "sampling/core/text.h"
#include "sampling/samplers/decorators/decorator.h"
#include "stages/detection/detector_entries.h"

namespace flowtrain {
namespace {

std::vector<Key> optional(std::vector<Key> keys) {
  for (auto& key : keys) key.required = false;
  return keys;
}

/// Returns a path that leads somewhere from `folder` relative to that; any other unchanged. It may hold variables.
std::string path_from(const std::filesystem::path& folder, const std::string& path) {
  const std::string expanded = expand_variables(path);
  const bool is_relative = !expanded.empty() && !expanded.starts_with('/') && !expanded.starts_with('~');
  std::error_code ignored;
  if (!is_relative || expanded.find("://") != expanded.npos || !std::filesystem::exists(folder / expanded, ignored))
    return path;
  return expanded == path ? (folder / path).lexically_normal().string() : (folder / path).string();
}

class Resolver {
 public:
  Resolver(Document document, std::string default_name)
      : document_(std::move(document)), default_name_(std::move(default_name)) {}

  Config resolve() {
    settle_precedence(document_);
    choose_fields();
    open_plugins();
    add_tables();
    check_tables();
    store_values();
    auto train = data_of("data.train", train_keys_), val = data_of("data.val", val_keys_);
    for (auto table : {"sampler", "order", "net", "loss", "step"}) check_required(tables_.at(table));
    auto lists = take_lists();
    for (auto& set : lists.at("val.set")) set = completed(set, val);
    auto test = has_test_data(document_) ? data_of("data.test", test_keys_) : val;
    for (auto& set : lists.at("test.set")) set = completed(set, test);
    Config config(document_.file, std::move(tables_), std::move(lists), std::move(train), std::move(val),
                  std::move(test));
    check_values(config);
    return config;
  }

 private:
  static bool repeats(const std::string& name) {
    const auto& all = core_tables();
    return std::any_of(all.begin(), all.end(),
                       [&](auto& each) { return each.name == name && each.repeats != Repeats::no; });
  }

  /// Converts what was written to the type of `key`, if possible, and expands environment variables. `name`: the dotted
  /// name of the key.
  Value fitted(const std::string& name, const Key& key, const Written& written) const try {
    return expand_variables(unexpanded(key, written));
  } catch (const UserError& error) {
    throw UserError(error.code(), concat(written.origin.text(), ": ", name, ": ", error.what()), error.hint());
  }

  Value unexpanded(const Key& key, const Written& written) const {
    Value value = key.kind == Kind::text && written.text ? Value(*written.text) : written.value;
    if (!key.is_path || document_.paths_from.empty() || written.origin.source != document_.file) return value;
    if (auto* path = std::get_if<std::string>(&value)) *path = path_from(document_.paths_from, *path);
    if (auto* paths = std::get_if<std::vector<std::string>>(&value))
      for (auto& path : *paths) path = path_from(document_.paths_from, path);
    return value;
  }

  bool is_written(const std::string& key) const { return document_.values.contains(key); }

  /// Returns `table` with the core keys of `kind`, of which only `key` is stored, to know a choice before its other
  /// keys are known.
  Settings choice(const std::string& table, const std::string& kind, const std::string& key) const {
    Settings settings(table, core_keys(kind));
    if (auto written = document_.values.find(table + "." + key); written != document_.values.end())
      settings.set(key, fitted(written->first, *find_key(settings.keys(), key), written->second),
                   written->second.origin);
    return settings;
  }

  /// Returns the keys of the part that `settings` names by the kind's key; none if it names none. The error for an
  /// unknown name has its place.
  static std::vector<Key> entry_keys(const PartKind& kind, const Settings& settings) {
    const std::string& name = settings.text(kind.key);
    if (name.empty()) return {};
    try {
      return kind.at(name).keys;
    } catch (const UserError& error) {
      throw settings.error(kind.key, error.what(), error.code(), error.hint());
    }
  }

  /// Returns the core keys of `kind`, and those of the part that `table`, one of that kind, names.
  std::vector<Key> part_keys(const std::string& table, const std::string& kind) const {
    return joined(core_keys(kind), entry_keys(*part_kind(kind, "name"), choice(table, kind, "name")));
  }

  /// Returns the name of the detector that [detect] names, or of the net's.
  auto detector() const { return detector_name(choice("detect", "detect", "name"), choice("net", "net", "name")); }

  std::vector<Key> detector_keys() const {
    const bool names_one = !choice("detect", "detect", "name").text("name").empty();
    if (names_one || detector().empty()) return part_keys("detect", "detect");
    return joined(core_keys("detect"), part_kind("detect", "name")->at(detector()).keys);
  }

  /// Returns the keys of [sampler]: a decorator's table also has the keys of the sampler that it decorates.
  std::vector<Key> sampler_keys() const {
    Settings settings("sampler", part_keys("sampler", "sampler"));
    for (const std::string key : {"name", "inner"})
      if (const auto written = document_.values.find("sampler." + key);
          written != document_.values.end() && settings.has(key))
        settings.set(key, fitted(written->first, *find_key(settings.keys(), key), written->second),
                     written->second.origin);
    return joined(core_keys("sampler"), keys_of_chain(sampler_chain(settings)));
  }

  bool has_sources() const { return document_.lists.contains("data.source"); }

  bool chooses_dataset(const std::string& table) const {
    return is_written(table + ".dataset") || is_written("data.dataset") || (has_sources() && table == "data.train");
  }

  /// `table`: "data.train" or "data.val". Returns the core keys alone if no data set is chosen: other mistakes are
  /// reported before a missing key (data_of), which has no line.
  std::vector<Key> dataset_keys(const std::string& table) const {
    const bool chooses_one = is_written(table + ".dataset") || is_written("data.dataset");
    if (!chooses_one && has_sources()) return optional(core_keys("data"));
    if (!chooses_one) return core_keys("data");
    auto settings = choice(is_written(table + ".dataset") ? table : "data", "data", "dataset");
    return joined(core_keys("data"), entry_keys(*part_kind("data", "dataset"), settings));
  }

  /// With [[field]] tables the sampler is the one that makes them, unless the same or a later source names another one.
  void choose_fields() {
    const auto fields = document_.lists.find("field");
    if (fields == document_.lists.end()) return;
    const auto [origin, layer, size] = fields->second;
    const auto written = document_.values.find("sampler.name");
    if (written != document_.values.end() && written->second.layer >= layer) return;
    document_.values["sampler.name"] = {.value = "fields", .origin = origin, .layer = layer};
  }

  // Called first, as all other tables may name their parts.
  void open_plugins() const {
    const auto run = choice("run", "run", "plugins");
    const auto plugins = RunKeys(run).plugins;
    for (auto& path : *plugins) guard_plugin(document_.file, path);
    for (auto& path : *plugins) try {
        open_plugin(path);
      } catch (const UserError& error) {
        throw plugins.error(error.what(), error.code(), error.hint());
      }
  }

  void add_tables() {
    train_keys_ = dataset_keys("data.train");
    val_keys_ = dataset_keys("data.val");
    test_keys_ = has_test_data(document_) ? dataset_keys("data.test") : val_keys_;
    for (auto& each : core_tables()) {
      const auto list = document_.lists.find(each.name);
      if (list != document_.lists.end() && each.repeats != Repeats::no)
        for (std::size_t i = 0; i < list->second.size; ++i) add_entry(each, each.name + "." + std::to_string(i));
      else if (each.repeats != Repeats::yes)
        tables_.emplace(each.name, Settings(each.name, each.keys));
    }
    auto top = core_keys("");
    top.front().fallback = default_name_;
    tables_[""] = Settings("", top);
    tables_["data"] = Settings("data", optional(joined(joined(train_keys_, val_keys_), test_keys_)));
    tables_["data.train"] = Settings("data.train", optional(train_keys_));
    tables_["data.val"] = Settings("data.val", optional(val_keys_));
    tables_["data.test"] = Settings("data.test", optional(test_keys_));
    for (const std::string table : {"order", "net", "loss", "step"})
      tables_[table] = Settings(table, part_keys(table, table));
    tables_["sampler"] = Settings("sampler", sampler_keys());
    if (tables_.contains("optim")) tables_["optim"] = Settings("optim", part_keys("optim", "optim"));
    tables_["detect"] = Settings("detect", detector_keys());
  }

  void add_entry(const KeyTable& kind, const std::string& table) {
    auto keys = kind.keys;
    if (kind.name == "data.source") {
      for (auto key : {"dataset", "order"})
        keys = joined(keys, entry_keys(*part_kind(kind.name, key), choice(table, kind.name, key)));
    } else if (const auto* transforms = part_kind(kind.name, "as")) {
      keys = joined(keys, entry_keys(*transforms, choice(table, kind.name, transforms->key)));
    } else if (part_kind(kind.name, "name")) {
      keys = part_keys(table, kind.name);
    }
    if (is_set(table)) keys = optional_but_name(set_keys(table));
    tables_.emplace(table, Settings(table, keys));
  }

  /// Returns the keys of a [[val.set]] or [[test.set]]: those of its own data set, or of [data.val] or [data.test].
  std::vector<Key> set_keys(const std::string& table) const {
    const std::string kind = split_key(table).first;
    const auto& core = core_keys(kind);
    if (!is_written(table + ".dataset"))
      return joined(joined(core, kind == "test.set" ? test_keys_ : val_keys_), {core.front()});
    return joined(joined(core, core_keys("data")),
                  entry_keys(*part_kind("data", "dataset"), choice(table, kind, "dataset")));
  }

  /// Returns whether `table` is a [[val.set]] or [[test.set]].
  static bool is_set(const std::string& table) {
    return is_of(table, *part_kind("val.set", "dataset")) || is_of(table, *part_kind("test.set", "dataset"));
  }

  static std::vector<Key> optional_but_name(std::vector<Key> keys) {
    for (auto& key : keys) key.required = key.name == "name";
    return keys;
  }

  /// Returns `set` with the keys that it leaves to [data.val] or [data.test], which is `val`.
  Settings completed(const Settings& set, const Settings& val) const {
    Settings all(set.table(), set_keys(set.table()));
    const bool own = set.given("dataset");
    for (auto& key : all.keys()) {
      if (set.given(key.name))
        all.set(key.name, set.value(key.name), set.origin(key.name));
      else if (val.has(key.name) && val.given(key.name) && (!own || is_of_loader(key.name)))
        all.set(key.name, val.value(key.name), val.origin(key.name));
    }
    all.check_required(set.origin("name").text());
    return all;
  }

  void check_required(const Settings& settings) const {
    const auto written = document_.tables.find(settings.table());
    settings.check_required(written == document_.tables.end() ? document_.file : written->second.text());
  }

  /// Returns the entries of all tables that repeat, or the single table.
  Config::Lists take_lists() {
    Config::Lists lists;
    for (auto& each : core_tables()) {
      if (each.repeats == Repeats::no) continue;
      auto& list = lists[each.name];
      for (std::size_t i = 0; tables_.contains(each.name + "." + std::to_string(i)); ++i)
        list.push_back(std::move(tables_.extract(each.name + "." + std::to_string(i)).mapped()));
      if (tables_.contains(each.name)) list.push_back(std::move(tables_.extract(each.name).mapped()));
      if (list.empty() && each.repeats == Repeats::maybe)
        throw UserError(ExitCode::usage,
                        document_.lists.at(each.name).origin.text() + ": " + each.name + ": expected one at least");
      for (auto& settings : list) check_required(settings);
    }
    return lists;
  }

  void check_tables() const {
    for (auto& [name, list] : document_.lists) {
      if (repeats(name)) continue;
      if (!tables_.contains(name)) throw unknown_table(name, list.origin);
      throw UserError(ExitCode::usage, list.origin.text() + ": " + name + ": expected one table, not a list",
                      "write [" + name + "]");
    }
    for (auto& [name, origin] : document_.tables) {
      if (tables_.contains(name)) continue;
      if (repeats(name))
        throw UserError(ExitCode::usage, origin.text() + ": " + name + ": expected a list of tables",
                        "write [[" + name + "]]");
      auto [table, leaf] = split_key(name);
      if (tables_.contains(table) && tables_.at(table).has(leaf))
        throw UserError(ExitCode::usage, origin.text() + ": '" + name + "' is a key, not a table");
      throw unknown_table(name, origin);
    }
  }

  /// Stores all values, in the order in which they were written, so that the first mistake is reported first.
  void store_values() {
    std::vector<const std::pair<const std::string, Written>*> all;
    for (auto& each : document_.values) all.push_back(&each);
    std::stable_sort(all.begin(), all.end(), [](auto* a, auto* b) {
      auto place = [](const Written& w) { return std::tuple(w.layer, w.origin.line, w.origin.column); };
      return place(a->second) < place(b->second);
    });
    for (auto* each : all) store(each->first, each->second);
  }

  void store(const std::string& key, const Written& written) {
    auto [table, leaf] = split_key(key);
    auto found = tables_.find(table);
    if (found == tables_.end() || !found->second.has(leaf)) {
      if (is_left_aside(table, leaf, written.layer)) return;
      throw unknown_key(key, table, leaf, written.origin);
    }
    auto& settings = found->second;
    try {
      const Key& known = *find_key(settings.keys(), leaf);
      const Value value = fitted(key, known, written), text = unexpanded(known, written);
      // A default that a run's config.toml marks as such counts as not given, so that the run goes on as it began.
      const bool is_default =
          written.marked_default && !settings.given(leaf) && to_toml(value) == to_toml(settings.value(leaf));
      settings.set(leaf, value, is_default ? Origin() : written.origin);
      if (value != text) remember_written(settings, leaf, text);
    } catch (const UserError&) {
      if (!is_left_aside(table, leaf, written.layer))
        throw;  // a key of the replaced part that has another meaning here
    }
  }

  /// Returns whether a key belongs to a choice that a later source has replaced, or to a data set that is still to be
  /// chosen.
  bool is_left_aside(const std::string& table, const std::string& leaf, int layer) const {
    auto replaced = [&](const std::string& key) {
      auto written = document_.values.find(key);
      return written != document_.values.end() && written->second.layer > layer;
    };
    if (inherits_dataset(table)) return is_left_aside("data.val", leaf, layer);
    if (table == "data" || table == "data.train" || table == "data.val" || table == "data.test")
      return (replaced("data.dataset") || replaced("data.train.dataset") || replaced("data.val.dataset") ||
              replaced("data.test.dataset") || !chooses_dataset("data.train") || !chooses_dataset("data.val")) &&
             !parts_with(*part_kind("data", "dataset"), leaf).empty();
    return std::ranges::any_of(part_kinds(), [&](auto& kind) {
      const bool other_part = replaced(table + "." + kind.key) || (table == "sampler" && replaced("sampler.inner")) ||
                              (table == "detect" && replaced("net.name"));
      return is_of(table, kind) && other_part && !parts_with(kind, leaf).empty();
    });
  }

  /// Returns whether `table` is a set without a data set of its own: it has the keys of [data.val]'s, or [data.test]'s.
  bool inherits_dataset(const std::string& table) const { return is_set(table) && !is_written(table + ".dataset"); }

  /// Returns whether `table` ("optim", "optim.1") names parts of this kind.
  static bool is_of(const std::string& table, const PartKind& kind) {
    return table == kind.table || (repeats(kind.table) && split_key(table).first == kind.table);
  }

  /// Returns the names of the parts of a kind that have a key.
  static std::vector<std::string> parts_with(const PartKind& kind, const std::string& key) {
    std::vector<std::string> names;
    for (auto& name : kind.names())
      if (find_key(kind.at(name).keys, key)) names.push_back(name);
    return names;
  }

  static std::string did_you_mean(const std::string& word) {
    return word.empty() ? "" : "; did you mean '" + word + "'?";
  }

  UserError unknown_table(const std::string& name, const Origin& origin) const {
    return UserError(ExitCode::usage,
                     origin.text() + ": unknown table '" + name + "'" + did_you_mean(suggested_table(name)),
                     "`flowtrain config --keys` lists all tables and keys");
  }

  UserError unknown_key(const std::string& key, const std::string& table, const std::string& leaf,
                        const Origin& origin) const {
    if (tables_.contains(key))
      return UserError(ExitCode::usage, origin.text() + ": '" + key + "' is a table, not a key", "write [" + key + "]");
    if (repeats(key))
      return UserError(ExitCode::usage, origin.text() + ": '" + key + "' is a list of tables, not a key",
                       "write [[" + key + "]]; `flowtrain config --keys` lists its keys");
    if (const auto list = document_.lists.find(table); list != document_.lists.end())
      return UserError(
          ExitCode::usage,
          origin.text() + ": " + key + ": there are several [[" + table + "]] (" + list->second.origin.text() + ")",
          "count from 0: " + table + ".0." + leaf);
    if (const auto of_others = key_of_other_parts(key, table, leaf, origin)) return *of_others;
    return UserError(ExitCode::usage,
                     origin.text() + ": unknown key '" + key + "'" + did_you_mean(suggestion(key, table, leaf)),
                     "`flowtrain config --keys` lists all tables and keys");
  }

  /// Returns the error for a key that only other parts than the named one have; nothing if none has it.
  std::optional<UserError> key_of_other_parts(const std::string& key, const std::string& table, const std::string& leaf,
                                              const Origin& origin) const {
    const auto reported = [&](const std::string& kind, const std::string& name,
                              const std::vector<std::string>& others) {
      const std::string list = join(others);
      return UserError(
          ExitCode::usage,
          origin.text() + ": " + key + ": " +
              (name.empty() ? "no " + kind + " is named" : "the " + kind + " '" + name + "' has no such key"),
          others.size() == 1 ? "it is a key of the " + kind + " " + list
                             : "it is a key of these " + kind + (kind.ends_with('s') ? "es: " : "s: ") + list);
    };
    for (auto& kind : part_kinds()) {
      const std::string owner = inherits_dataset(table) ? "data.val" : table;
      const bool of_data = owner == "data.train" || owner == "data.val" || owner == "data.test";
      if (!is_of(of_data ? "data" : owner, kind)) continue;
      const std::string chooser = of_data && !is_written(owner + "." + kind.key) ? "data" : owner;
      if (const auto others = parts_with(kind, leaf); !others.empty())
        return reported(kind.kind,
                        table == "detect" ? detector() : choice(chooser, kind.table, kind.key).text(kind.key), others);
    }
    return std::nullopt;
  }

  /// Returns a table whose name is spelt like this one; else the table that has, with those below it, most of the keys
  /// that are written here; else one whose name has a word in common.
  std::string suggested_table(const std::string& table) const {
    std::vector<std::string> known;
    for (auto& each : core_tables()) known.push_back(each.name);
    if (auto near = nearest(table, known); !near.empty()) return near;
    std::string best;
    std::ptrdiff_t most = 0;
    for (auto& [name, settings] : tables_) {
      const auto shared = std::ranges::count_if(document_.values, [&, &place = name](auto& each) {
        const auto [owner, leaf] = split_key(each.first);
        if (owner != table && !owner.starts_with(table + ".")) return false;
        const auto found = tables_.find(place + owner.substr(table.size()));
        return found != tables_.end() && found->second.has(leaf);
      });
      if (shared > most) best = name, most = shared;
    }
    return best.empty() ? similar(table, known) : best;
  }

  /// Returns a key of the same table with a similar spelling, else the same key of another table, else a key of the
  /// same table with a word in common, else a key whose table is spelt alike.
  std::string suggestion(const std::string& key, const std::string& table, const std::string& leaf) const {
    std::vector<std::string> all, same_table, same_leaf;
    for (auto& [name, settings] : tables_) {
      for (auto& each : settings.keys()) {
        auto full = name.empty() ? each.name : name + "." + each.name;
        all.push_back(full);
        if (name == table) same_table.push_back(each.name);
        if (each.name == leaf) same_leaf.push_back(full);
      }
    }
    if (auto near = nearest(leaf, same_table); !near.empty()) return table.empty() ? near : table + "." + near;
    if (!same_leaf.empty()) return same_leaf.front();
    if (!tables_.contains(table)) return nearest(key, all);
    const auto alike = similar(leaf, same_table);
    return alike.empty() || table.empty() ? alike : table + "." + alike;
  }

  /// Returns [data] with the changes of `table`.
  Settings data_of(const std::string& table, const std::vector<Key>& keys) const {
    Settings settings(table == "data.test" ? table : "data", keys);
    for (auto& key : keys)
      for (auto* source : {&tables_.at("data"), &tables_.at(table)})
        if (source->given(key.name)) settings.set(key.name, source->value(key.name), source->origin(key.name));
    settings.check_required(document_.file);
    return settings;
  }

  Document document_;
  std::string default_name_;
  std::map<std::string, Settings> tables_;
  std::vector<Key> train_keys_, val_keys_, test_keys_;
};

}  // namespace

Config resolve(Document document, const std::string& default_name) {
  return Resolver(std::move(document), default_name).resolve();
}

}  // namespace flowtrain
