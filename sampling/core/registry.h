#pragma once
// Named factories. Each kind of part (data set, sampler, order) has one registry; programs and tests add their own.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

/// What other code must know of each part of a kind, so that nobody guesses it from a name: empty unless a kind
/// specialises it.
template <class Part>
struct TraitsOf {};

/// What a name in the configuration stands for: its keys, one line of help, and how to make one.
template <class Part, class Input>
struct Entry {
  std::string name;
  std::string help;
  std::vector<Key> keys;  ///< of its own table, beside `name`
  /// Null for a part that computes until LibTorch is there: see set_make().
  std::function<std::unique_ptr<Part>(const Settings&, const Input&)> make;
  TraitsOf<Part> traits = {};
  /// Throws UserError(usage) for keys that do not fit each other; called when a configuration is read. May be null.
  std::function<void(const Settings&)> check = {};
};

/// Entries by name. Filled with the built-in ones before first use; not to be changed while a loader runs.
template <class Part, class Input>
class Registry {
 public:
  using Item = Entry<Part, Input>;

  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  /// Adds an entry; a name that is taken is a bug.
  void add(Item item) {
    auto name = item.name;
    if (!entries_.emplace(name, std::move(item)).second)
      throw InternalError("there is a " + kind_ + " called '" + name + "' already");
  }
  /// Gives an entry that is there what makes its parts.
  void set_make(const std::string& name, decltype(Item::make) make) { entries_.at(name).make = std::move(make); }
  bool has(const std::string& name) const { return entries_.contains(name); }
  /// The entry called `name`; throws UserError(usage) with the known names otherwise.
  const Item& at(const std::string& name) const {
    if (auto found = entries_.find(name); found != entries_.end()) return found->second;
    auto known = names();
    auto near = nearest(name, known);
    throw UserError(ExitCode::usage, "no " + kind_ + " is called '" + name + "'",
                    (near.empty() ? std::string() : "did you mean '" + near + "'? ") + "known: " + join(known));
  }
  /// Sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto& [name, item] : entries_) all.push_back(name);
    return all;
  }
  /// "net", "data set".
  const std::string& kind() const { return kind_; }

 private:
  std::string kind_;
  std::map<std::string, Item> entries_;
};

/// Where a file of parts puts its entries. A part that computes is compiled twice: without LibTorch, where its file
/// adds the entry, and with it, where the same line gives the entry that is there its `make`. So configurations are
/// checked, and parts are listed and explained, without LibTorch.
template <class Part, class Input>
class EntrySink {
 public:
  EntrySink(Registry<Part, Input>& registry, bool completes) : registry_(registry), completes_(completes) {}
  void add(Entry<Part, Input> entry) {
    completes_ ? registry_.set_make(entry.name, std::move(entry.make)) : registry_.add(std::move(entry));
  }

 private:
  Registry<Part, Input>& registry_;
  bool completes_;
};

}  // namespace flowtrain

#ifndef FLOWTRAIN_COMPUTES
#define FLOWTRAIN_COMPUTES 1  ///< 0 where a file of parts is compiled without LibTorch
#endif
#if FLOWTRAIN_COMPUTES
#define FLOWTRAIN_ENTRIES(file) set_makes_of_##file
#define FLOWTRAIN_MAKE(...) __VA_ARGS__
#else
#define FLOWTRAIN_ENTRIES(file) add_entries_of_##file
#define FLOWTRAIN_MAKE(...) nullptr
#endif
