#pragma once
// The kinds of parts that a configuration names, all alike: what is listed, checked and explained of them.

#include <functional>
#include <string>
#include <vector>

#include "sampling/core/settings.h"

namespace flowtrain {

/// What a configuration needs of an entry.
struct PartFacts {
  std::string help;
  std::vector<Key> keys;
  std::function<void(const Settings&)> check;  ///< may be null
  bool observes_only = false;                  ///< a hook that changes nothing
};

/// One kind: the table that names a part, the key that does so, and the registry.
struct PartKind {
  std::string table;  ///< "net"; of [[hook]] "hook"
  std::string key;    ///< "name"; "dataset" in [data]
  std::string title;  ///< for lists: "nets (net.name)"
  std::string kind;   ///< in messages: "net"
  std::function<std::vector<std::string>()> names;
  /// Throws UserError(usage) with the known names.
  std::function<PartFacts(const std::string& name)> at;
  /// Takes the part out; parts that it has made stay good.
  std::function<void(const std::string& name)> remove;
};

/// In the order of the tables.
const std::vector<PartKind>& part_kinds();

/// The kind whose parts `table` names by `key`; null where it names none.
const PartKind* part_kind(const std::string& table, const std::string& key);

/// The keys of `table` that names the part `name`: the core ones, and the entry's.
std::vector<Key> keys_with(const std::string& table, const std::string& name);

}  // namespace flowtrain
