#pragma once
// The core keys of the configuration. Data sets, nets, hooks and other parts have more keys, which their entries list.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/base/config/decides.h"
#include "sampling/core/settings.h"

namespace flowtrain {

/// The number of times that a table may stand in a configuration.
enum class Repeats { no, maybe, yes };

/// A condition without which a key lies idle.
struct Needs {
  std::string key;           ///< another key of the same table
  std::string value = {};    ///< the text that it must hold; empty: any value but false, and numbers above 0
  std::string or_list = {};  ///< an entry of this list may hold it instead
};

/// One line of a table of keys.
struct CoreKey {
  Decides decides;  ///< has no default, so that no key is forgotten
  Key key;
  std::vector<Needs> needs = {};
};

/// A table of the configuration and its keys.
struct KeyTable {
  std::string name;  ///< dotted: "loader", "lr.warmup"; "" is the top level
  std::string help;
  Decides parts;  ///< said of the keys of the parts that the table names
  std::vector<CoreKey> lines;
  Repeats repeats = Repeats::no;                    ///< yes: [[name]] only; maybe: [name], or several [[name]]
  std::map<std::string, Decides> other_parts = {};  ///< keys of parts that decide something else
  std::vector<Key> keys = {};                       ///< the keys of `lines`
};

/// Returns the core tables, in the order in which they are listed and written. A table that names a part (part_kinds.h)
/// also takes the keys of its entry; [data.train] and [data.val] take those of [data].
const std::vector<KeyTable>& core_tables();

/// Returns whether a key of [data] is not about one data set, but about the loader that reads from it or from several.
bool is_of_loader(const std::string& data_key);

/// Returns the core keys of one table; an unknown name is a bug.
const std::vector<Key>& core_keys(std::string_view table);

/// Returns `core` with the keys of `extra`. Where both have a key of one name, the result has the one of `extra`, which
/// says more.
std::vector<Key> joined(const std::vector<Key>& core, const std::vector<Key>& extra);

/// Returns all keys with types, defaults and help as text for people: core keys, then those of each registered entry.
std::string describe_keys();

}  // namespace flowtrain
