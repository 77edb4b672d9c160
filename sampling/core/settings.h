#pragma once
// Typed settings: the keys and values of a table of the configuration. They do not depend on TOML, so that samplers,
// data sets and orders can state their keys without it.

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sampling/core/error.h"

namespace flowtrain {

/// The types a key can have. `integer_or_text` is for keys such as `every = 500 | "2 epochs"`.
enum class Kind { boolean, integer, real, text, integers, reals, texts, integer_or_text };

/// The value of a key.
struct Value : std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                            std::vector<std::string>> {
  using variant::variant;
  using variant::operator=;
  Value(const Value& other);
  Value(Value&&) noexcept = default;
  Value& operator=(const Value& other) { return *this = Value(other); }
  Value& operator=(Value&&) noexcept = default;
};

/// One key of a table: its type, default, bounds and one line of help.
struct Key {
  std::string name;
  Kind kind;
  Value fallback;  ///< an integer with Kind::integers: one number may replace the list
  std::string help;
  double min = -std::numeric_limits<double>::infinity();  ///< bounds of numbers and list elements
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  ///< allowed texts; empty: all
  bool required = false;                  ///< must be given; `fallback` then only states the type
  bool is_path = false;                   ///< texts: "~/" at the beginning is the home folder
};

/// The place at which a value was written: a file's line and column, or a flag of the command line.
struct Origin {
  std::string source;  ///< a file's path, "--set", "--seed" …; empty for a default
  int line = 0;        ///< counted from 1; 0: none
  int column = 0;

  /// Returns "configs/a.toml:12:3", "--set" or "default".
  std::string text() const;
};

/// The values of one table: every key present, defaults filled in, types and bounds checked.
class Settings {
 public:
  Settings() = default;
  /// `table` is the dotted name shown in messages ("loader"); values start at their defaults.
  Settings(std::string table, std::vector<Key> keys);

  /// Checks and stores one value. An integer is accepted for a real. Throws UserError(usage) with the origin for a
  /// wrong type, a value out of bounds, or an unknown key (with the nearest known one).
  void set(const std::string& name, const Value& value, Origin origin);

  bool boolean(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  const std::vector<std::int64_t>& integers(const std::string& name) const;
  const std::vector<double>& reals(const std::string& name) const;
  const std::vector<std::string>& texts(const std::string& name) const;
  const Value& value(const std::string& name) const;

  /// Returns whether the user wrote the value, instead of the default.
  bool given(const std::string& name) const;
  const Origin& origin(const std::string& name) const;
  bool has(const std::string& name) const;
  const std::string& table() const { return table_; }
  const std::vector<Key>& keys() const { return keys_; }

  /// Throws UserError(usage) if a required key was not given; `where` is a file's name for the message.
  void check_required(const std::string& where = {}) const;
  /// Returns the start of a message of a key, which tells the place of its value: "configs/a.toml:3:1: data.path: ".
  std::string place_of(const std::string& name) const;
  /// Makes an error that begins with place_of() the key.
  UserError error(const std::string& name, const std::string& message, ExitCode code = ExitCode::usage,
                  const std::string& hint = {}) const;

 private:
  struct Slot {
    Value value;
    Origin origin;
  };
  const Key& key(const std::string& name) const;
  template <class T>
  const T& as(const std::string& name) const;

  std::string table_;
  std::vector<Key> keys_;
  std::map<std::string, Slot> slots_;
};

/// Returns the key that distinguishes a table from others of its list: "label" if given, else "name".
const char* label_key(const Settings& settings);
/// Returns the value of label_key().
const std::string& label_of(const Settings& settings);

/// Returns the key of this name; null if there is none.
const Key* find_key(const std::vector<Key>& keys, const std::string& name);

/// Returns the value as TOML writes it: `"text"`, `[1, 2]`, `0.1`.
std::string to_toml(const Value& value);

/// Returns the candidate nearest to `word` by edit distance, or "" if all are far (more than half of its length).
std::string nearest(const std::string& word, std::span<const std::string> candidates);

}  // namespace flowtrain
