// Changes each key of the configuration in turn, and lists who notices: a resume, `flowtrain verify`, `flowtrain test`,
// a loader's stream of samples, and the notes on idle keys.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/idle_keys.h"
#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "pipeline/engine/loader/stream_rules.h"
#include "pipeline/inference/evaluation/part_inputs.h"
#include "pipeline/runs/verify/setting_differences.h"
#include "sampling/core/text.h"
#include "stages/hooks/hook_entries.h"
#include "tests/support/paths.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::what_keys_decide_test {
namespace {

constexpr const char* acting_hook = "acts";
const std::vector<std::string> data_tables{"data", "data.train", "data.val", "data.test"};

/// A data set of which only its size is asked.
class NoRecords : public Dataset {
 public:
  std::uint64_t size() const override { return 8; }
  Record read(std::uint64_t, ReadBuffer&) const override { return {}; }
  std::int64_t label(std::uint64_t) const override { return -1; }
  std::vector<std::string> classes() const override { return {}; }
  std::string describe(std::uint64_t) const override { return {}; }
};

/// The keys of all parts that a table may name, without the core keys.
std::vector<Key> part_keys(const std::string& table) {
  const bool is_set = table == "val.set" || table == "test.set", is_data = std::ranges::count(data_tables, table) > 0;
  std::vector<Key> keys = is_set ? core_keys("data") : std::vector<Key>();
  for (auto& kind : part_kinds())
    if (kind.table == (is_data ? "data" : table))
      for (auto& name : kind.names()) keys = joined(keys, kind.at(name).keys);
  std::erase_if(keys, [&](auto& key) { return find_key(core_keys(is_data ? "data" : table), key.name); });
  return keys;
}

struct Parts {
  std::map<std::string, Settings> tables;
  Config::Lists lists;
  Settings train, val, test;

  Config config() const { return {"a.toml", tables, lists, train, val, test}; }
};

/// A configuration in which each list has one entry, and `table` has the keys of all parts that it may name.
Parts defaults(const std::string& table, const std::string& hook) {
  Parts parts;
  const auto keys_of = [&](const std::string& name) {
    const bool is_data = std::ranges::count(data_tables, name) > 0;
    auto keys = core_keys(is_data ? "data" : name);
    return name == table || (is_data && std::ranges::count(data_tables, table)) ? joined(keys, part_keys(name)) : keys;
  };
  for (auto& each : core_tables()) {
    const Settings settings(each.repeats == Repeats::yes ? each.name + ".0" : each.name, keys_of(each.name));
    if (each.repeats == Repeats::no)
      parts.tables.emplace(each.name, settings);
    else
      parts.lists[each.name].push_back(settings);
  }
  parts.lists.at("hook").front().set("name", hook, {});
  parts.train = parts.val = parts.tables.at("data");
  parts.test = parts.tables.at("data.test");
  return parts;
}

/// Sets a key to another value, the first possible one of some; says whether there is one.
bool change(Settings& settings, const std::string& name, const std::vector<Value>& others) {
  const Value before = settings.value(name);
  for (auto& other : others) try {
      settings.set(name, other, {"changed"});
      if (settings.value(name) != before) return true;
    } catch (const UserError&) {
    }
  return false;
}

std::vector<Value> other_values(const std::string& table, const Key& key, const std::string& hook) {
  using Texts = std::vector<std::string>;
  if (table == "hook" && key.name == "name") {
    std::vector<Value> others;
    for (auto& name : hooks().names())
      if (hooks().at(name).traits.observes_only == hooks().at(hook).traits.observes_only) others.emplace_back(name);
    return others;
  }
  std::vector<Value> others{true, false, std::int64_t{1}, std::int64_t{2}, 0.25, 0.75};
  for (auto& choice : key.choices) others.emplace_back(choice);
  others.insert(others.end(), {std::string("other"), Texts{"other"}, std::vector<double>{0.25, 0.75}});
  if (!key.choices.empty()) others.emplace_back(Texts{key.choices.front()});
  return others;
}

/// The parts of a step for which `flowtrain verify` takes a key's difference for a likely cause, by key.
std::map<std::string, std::string> likely_causes(const std::vector<std::string>& tables) {
  const TempFolder folder;
  for (const char* value : {"1", "2"}) {
    std::string text;
    for (auto& table : tables) {
      const bool is_data = std::ranges::count(data_tables, table) > 0;
      const bool repeats = std::ranges::find(core_tables(), table, &KeyTable::name)->repeats == Repeats::yes;
      if (!table.empty()) text += repeats ? concat("[[", table, "]]\n") : concat("[", table, "]\n");
      for (auto& key : joined(core_keys(is_data ? "data" : table), part_keys(table)))
        text += concat(key.name, " = ", value, "\n");
    }
    folder.write(concat(value, "/config.toml"), text);
    folder.write(concat(value, "/env.json"), "{}");
  }
  std::map<std::string, std::string> causes;
  for (auto& [kind, name] : {std::pair{Compared::ids, " order"},
                             {Compared::field, " rows"},
                             {Compared::loss, " training"},
                             {Compared::validation, " validation"}}) {
    const RunComparison comparison{.parts = {{.kind = kind, .first = RunDifference{}}}};
    for (auto& each : compare_settings(folder.path() / "1", folder.path() / "2", comparison).config) {
      std::string key = each.key;
      if (const auto number = key.find(".0."); number != key.npos) key.erase(number, 2);
      if (each.likely) causes[key] += name;
    }
  }
  return causes;
}

/// What a key's line says: who notices that it has changed.
std::string noticed(const Config& before, const Config& now) {
  std::string text;
  const auto differences = diff(before, now);
  if (std::ranges::any_of(differences, &Difference::breaks)) text += ", breaks a resume";
  if (differences.empty()) text += ", not compared";
  if (common_values(before) != common_values(now)) text += ", the same in all processes";
  const NoRecords dataset;
  for (const bool training : {true, false})
    if (stream_basis(before, training, dataset, 8, 4) != stream_basis(now, training, dataset, 8, 4))
      text += training ? ", training's stream" : ", validation's stream";
  const TempFolder folder;
  folder.write("manifest.json", "{}");
  const auto inputs = [&](const Config& config) {
    DataParts parts;
    parts.dataset = std::make_unique<NoRecords>();
    return part_inputs(folder.path(), ValidationData("", config, std::move(parts)), "cpu", 0);
  };
  if (inputs(before) != inputs(now)) text += ", a test's input";
  const auto idle = idle_keys(before);
  for (auto& note : idle_keys(now))
    if (std::ranges::find(idle, note) == idle.end()) text += concat(", idle: ", note.substr(note.find("is not ")));
  return text;
}

/// The lines of a table. The keys of parts have one line together, but for those that differ from most of them.
std::string lines_of(const std::string& table, const std::string& hook,
                     const std::map<std::string, std::string>& causes) {
  const Parts base = defaults(table, hook);
  const Config before = base.config();
  const auto line_of = [&](const Key& key) -> std::optional<std::string> {
    Parts parts = base;
    const auto others = other_values(table, key, hook);
    std::vector<Settings*> places;
    if (table == "data") places = {&parts.train, &parts.val};
    if (table == "data.train") places = {&parts.train};
    if (table == "data.val") places = {&parts.val};
    if (table == "data.test") places = {&parts.test};
    if (const auto found = parts.tables.find(table); found != parts.tables.end()) places.push_back(&found->second);
    if (const auto found = parts.lists.find(table); found != parts.lists.end())
      places.push_back(&found->second.front());
    for (auto* place : places)
      if (!change(*place, key.name, others)) return std::nullopt;
    std::string text = noticed(before, parts.config());
    if (const auto found = causes.find(table.empty() ? key.name : concat(table, ".", key.name)); found != causes.end())
      text = concat(", a cause of other", found->second, text);
    return text.empty() ? "nothing" : text.substr(2);
  };
  const std::string shown = table == "hook" && hook != acting_hook ? "hook that observes only" : table;
  std::string text;
  const auto add = [&](const std::string& key, const std::string& line) {
    text += concat(shown.empty() ? "" : shown + ".", key, ": ", line, "\n");
  };
  for (auto& key : core_keys(std::ranges::count(data_tables, table) ? "data" : table))
    add(key.name, line_of(key).value_or("has one value"));
  std::map<std::string, std::vector<std::string>> of_parts;
  for (auto& key : part_keys(table))
    if (const auto line = line_of(key)) of_parts[*line].push_back(key.name);
  if (of_parts.empty()) return text;
  const auto most = std::ranges::max_element(of_parts, {}, [](auto& each) { return each.second.size(); });
  add("*", most->first);
  for (auto& [line, keys] : of_parts)
    if (line != most->first)
      for (auto& key : keys) add(key, line);
  return text;
}

}  // namespace

TEST_CASE("each key of the configuration decides what the list says") {
  for (const char* name : {acting_hook, "acts_too"})
    hooks().add({name, "for tests", {{"strength", Kind::real, 0.5, "how much"}}, {}});
  std::vector<std::string> tables;
  for (auto& table : core_tables()) tables.push_back(table.name);
  const auto causes = likely_causes(tables);
  std::string text;
  for (auto& table : tables) {
    text += lines_of(table, acting_hook, causes);
    if (table == "hook") text += lines_of(table, "stop_file", causes);
  }
  const std::string file = test::source_path("tests/pipeline/inference/what_keys_decide.txt");
  if (std::getenv("FLOWTRAIN_WRITE_LIST")) std::ofstream(file) << text;
  INFO("FLOWTRAIN_WRITE_LIST=1 writes the list anew");
  CHECK(text == testing::read_text(file));
}

}  // namespace flowtrain::what_keys_decide_test
