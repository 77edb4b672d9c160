#pragma once
// Every key of the configuration that does not belong to a named part: a data set, a net, a hook …

#include <string>
#include <string_view>
#include <vector>

#include "sampling/core/settings.h"

namespace flowtrain {

/// How often a table may stand in a configuration.
enum class Repeats { no, maybe, yes };

/// A table of the configuration and its keys.
struct KeyTable {
  std::string name;  ///< dotted: "loader", "lr.warmup"; "" is the top level
  std::string help;
  std::vector<Key> keys;
  Repeats repeats = Repeats::no;  ///< yes: [[name]] only; maybe: [name], or several [[name]]
};

/// The core tables, in the order in which they are listed and written. A table that names a part (part_kinds.h) also
/// takes the keys of its entry; [data.train] and [data.val] take those of [data].
const std::vector<KeyTable>& core_tables();

/// Whether a key of [data] is not about one data set, but about the loader that reads from it or from several sources.
bool is_of_loader(const std::string& data_key);

/// The core keys of one table; an unknown name is a bug.
const std::vector<Key>& core_keys(std::string_view table);

/// `extra` beside `core`; where both have a key of one name, the one of `extra` says more and is taken.
std::vector<Key> joined(const std::vector<Key>& core, const std::vector<Key>& extra);

/// All keys with types, defaults and help, as text for people: core ones, then those of every registered entry.
std::string describe_keys();

}  // namespace flowtrain
