#include "pipeline/base/config/keys.h"

#include <algorithm>
#include <set>

#include "pipeline/base/config/key_lines.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

const KeyTable* find_table(std::string_view name) {
  const auto found = std::ranges::find(core_tables(), name, &KeyTable::name);
  return found == core_tables().end() ? nullptr : &*found;
}

std::vector<KeyTable> all_tables() {
  std::vector<KeyTable> all;
  for (auto* tables : {&key_lines::data_tables(), &key_lines::model_tables(), &key_lines::result_tables()})
    for (auto& table : *tables) {
      for (auto& line : all.emplace_back(table).lines) all.back().keys.push_back(line.key);
    }
  return all;
}

}  // namespace

const std::vector<KeyTable>& core_tables() {
  static const std::vector<KeyTable> tables = all_tables();
  return tables;
}

const std::vector<Key>& core_keys(std::string_view table) {
  if (const auto* found = find_table(table)) return found->keys;
  throw InternalError(concat("no core table [", table, "]"));
}

Decides decided_by(const std::string& key) {
  const KeyTable* table = nullptr;  // the longest name with which the key begins
  for (auto& each : core_tables())
    if (key.starts_with(each.name + ".") && (!table || table->name.size() < each.name.size())) table = &each;
  if (!table) return Decides::nothing;
  // Validation and tests take the keys of [data], which then decide nothing that a resume must not change.
  const bool only_measures = table->name == "data.val" || table->name == "data.test";
  if (only_measures || table->name == "data.train") table = find_table("data");
  const std::string leaf = key.substr(key.rfind('.') + 1);
  const auto line = std::ranges::find(
      table->lines, leaf, [](auto& each) -> auto& { return each.key.name; });
  const auto other = table->other_parts.find(leaf);
  const Decides decides = line != table->lines.end()          ? line->decides
                          : other != table->other_parts.end() ? other->second
                                                              : table->parts;
  return only_measures && decides != Decides::nothing ? decides | Decides::joint : decides;
}

bool is_of_loader(const std::string& data_key) {
  static const std::set<std::string> names = {"bad", "max_bad", "val_share", "epoch", "batches"};
  return names.contains(data_key);
}

std::vector<Key> joined(const std::vector<Key>& core, const std::vector<Key>& extra) {
  auto keys = core;
  for (auto& key : extra) {
    auto same = std::ranges::find(keys, key.name, &Key::name);
    if (same == keys.end())
      keys.push_back(key);
    else
      *same = key;
  }
  return keys;
}

}  // namespace flowtrain
