#pragma once
// Named factories. Each kind of part (data set, sampler, order) has one registry; programs and tests add their own.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/settings.h"

namespace flowtrain {

/// What a name in the configuration stands for: its keys, one line of help, and how to make one.
template <class Part, class Input>
struct Entry {
  std::string name;
  std::string help;
  std::vector<Key> keys;  ///< of its own table, beside `name`
  std::function<std::unique_ptr<Part>(const Settings&, const Input&)> make;
};

/// Entries by name. Filled with the built-in ones before first use; not to be changed while lines run.
template <class Part, class Input>
class Registry {
 public:
  using Item = Entry<Part, Input>;

  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  /// Adds an entry; a name that is taken is a bug.
  void add(Item item) {
    auto name = item.name;
    if (!entries_.emplace(name, std::move(item)).second)
      throw InternalError("two entries called '" + name + "' among the " + kind_ + "s");
  }
  /// The entry called `name`; throws UserError(usage) with the known names otherwise.
  const Item& at(const std::string& name) const {
    if (auto found = entries_.find(name); found != entries_.end()) return found->second;
    auto known = names();
    auto near = nearest(name, known);
    std::string list;
    for (auto& each : known) list += (list.empty() ? "" : ", ") + each;
    throw UserError(Exit::usage, "no " + kind_ + " is called '" + name + "'",
                    (near.empty() ? std::string() : "did you mean '" + near + "'? ") + "known: " + list);
  }
  /// Sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto& [name, item] : entries_) all.push_back(name);
    return all;
  }

 private:
  std::string kind_;
  std::map<std::string, Item> entries_;
};

}  // namespace flowtrain
