#pragma once
// The kinds of parts that a configuration names: how each kind is listed, checked and explained.

#include <functional>
#include <string>
#include <vector>

#include "sampling/core/settings.h"

namespace flowtrain {

/// The facts of an entry that a configuration needs.
struct PartFacts {
  std::string help;
  std::vector<Key> keys;
  std::function<void(const Settings&)> check;  ///< may be null
  bool observes_only = false;                  ///< a hook that changes nothing
};

/// One kind: the table that names a part, the key that does so, and the registry.
struct PartKind {
  std::string table;  ///< "net"; "hook" for [[hook]]
  std::string key;    ///< "name"; "dataset" in [data]
  std::string title;  ///< a heading of lists: "nets (net.name)"
  std::string kind;   ///< name in messages: "net"
  std::function<std::vector<std::string>()> names;
  /// Throws UserError(usage) with the known names.
  std::function<PartFacts(const std::string& name)> at;
  /// Removes the entry; parts that it has made remain valid.
  std::function<void(const std::string& name)> remove;
};

/// Returns all kinds, in the order of the tables.
const std::vector<PartKind>& part_kinds();

/// Returns the kind whose parts `table` names by `key`; null if it names none.
const PartKind* part_kind(const std::string& table, const std::string& key);

/// Returns the keys of a table that names the part `name`: the core keys, and those of the entry.
std::vector<Key> keys_with(const std::string& table, const std::string& name);

}  // namespace flowtrain
