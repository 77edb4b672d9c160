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

/// The facts about each part of a kind that other code must know, so that nobody guesses them from a name: empty unless
/// a kind specialises it.
template <class Part>
struct TraitsOf {};

/// The meaning of a name in the configuration: its keys, one line of help, and how to make its part.
template <class Part, class Input>
struct Entry {
  std::string name;
  std::string help;
  std::vector<Key> keys;  ///< keys of its own table, beside `name`
  /// Null for a part that computes, until set_make() is called with LibTorch.
  std::function<std::unique_ptr<Part>(const Settings&, const Input&)> make;
  TraitsOf<Part> traits = {};
  /// Throws UserError(usage) for keys that do not fit each other; called when a configuration is read. May be null.
  std::function<void(const Settings&)> check = {};
};

/// Entries by name. The built-in ones are added before first use; it must not change while a loader runs.
template <class Part, class Input>
class Registry {
 public:
  using Item = Entry<Part, Input>;

  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  /// Adds an entry; a name that exists is a bug.
  void add(Item item) {
    auto name = item.name;
    if (!entries_.emplace(name, std::move(item)).second)
      throw InternalError("there is already a " + kind_ + " called '" + name + "'");
  }
  /// Sets the function that makes the parts of an existing entry.
  void set_make(const std::string& name, decltype(Item::make) make) { entries_.at(name).make = std::move(make); }
  bool has(const std::string& name) const { return entries_.contains(name); }
  /// Returns the entry called `name`; throws UserError(usage) with the known names if there is none.
  const Item& at(const std::string& name) const {
    if (auto found = entries_.find(name); found != entries_.end()) return found->second;
    auto known = names();
    auto near = nearest(name, known);
    throw UserError(ExitCode::usage, "no " + kind_ + " is called '" + name + "'",
                    (near.empty() ? std::string() : "did you mean '" + near + "'? ") + "known: " + join(known));
  }
  /// Returns all names, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto& [name, item] : entries_) all.push_back(name);
    return all;
  }
  /// Returns the kind: "net", "data set".
  const std::string& kind() const { return kind_; }

 private:
  std::string kind_;
  std::map<std::string, Item> entries_;
};

/// Takes the entries of a file of parts. A part that computes is compiled twice: without LibTorch its file adds the
/// entry, and with LibTorch the same line sets the `make` of the existing entry. So configurations are checked, and
/// parts are listed and explained, without LibTorch.
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
#define FLOWTRAIN_COMPUTES 1  ///< 0 if a file of parts is compiled without LibTorch
#endif
#if FLOWTRAIN_COMPUTES
#define FLOWTRAIN_ENTRIES(file) set_makes_of_##file
#define FLOWTRAIN_MAKE(...) __VA_ARGS__
#else
#define FLOWTRAIN_ENTRIES(file) add_entries_of_##file
#define FLOWTRAIN_MAKE(...) nullptr
#endif
