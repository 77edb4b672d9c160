#pragma once
// Typed settings: what a table of the configuration may hold, and what it holds. Knows nothing of TOML, so that
// samplers, data sets and orders can state their keys without it.

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

/// What a key holds.
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
  Value fallback;  ///< an integer with Kind::integers: one number may stand for the list
  std::string help;
  double min = -std::numeric_limits<double>::infinity();  ///< numbers, and each element of a list of numbers
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  ///< texts: if not empty, one of these
  bool required = false;                  ///< must be given; `fallback` then only states the type
  bool is_path = false;                   ///< texts: "~/" at the beginning is the home folder
};

/// Where a value was written: a file's line and column, or a flag of the command line.
struct Origin {
  std::string source;  ///< a file's path, "--set", "--seed" …; empty for a default
  int line = 0;        ///< from 1; 0 where there is none
  int column = 0;

  /// "configs/a.toml:12:3", "--set" or "default".
  std::string text() const;
};

/// The values of one table: every key present, defaults filled in, types and bounds checked.
class Settings {
 public:
  Settings() = default;
  /// `table` is the dotted name shown in messages ("loader"); values start at their defaults.
  Settings(std::string table, std::vector<Key> keys);

  /// Checks and stores one value. An integer is taken where a real is wanted. Throws UserError(usage) with the origin
  /// for a wrong type, a value out of bounds, or an unknown key (with the nearest known one).
  void set(const std::string& name, const Value& value, Origin origin);

  bool boolean(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  const std::vector<std::int64_t>& integers(const std::string& name) const;
  const std::vector<double>& reals(const std::string& name) const;
  const std::vector<std::string>& texts(const std::string& name) const;
  const Value& value(const std::string& name) const;

  /// Whether the value was written by the user, not taken from the default.
  bool given(const std::string& name) const;
  const Origin& origin(const std::string& name) const;
  bool has(const std::string& name) const;
  const std::string& table() const { return table_; }
  const std::vector<Key>& keys() const { return keys_; }

  /// Throws UserError(usage) if a required key was not given; `where`: a file's name for the message.
  void check_required(const std::string& where = {}) const;
  /// An error that names the key and where its value was written: "configs/a.toml:3:1: data.path: <message>".
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

/// The key that tells a table from others of its list: "label" where that is given, else "name".
const char* label_key(const Settings& settings);
/// The value of label_key().
const std::string& label_of(const Settings& settings);

/// The key of this name; null where there is none.
const Key* find_key(const std::vector<Key>& keys, const std::string& name);

/// The value as TOML writes it: `"text"`, `[1, 2]`, `0.1`.
std::string to_toml(const Value& value);

/// The candidate with the smallest edit distance to `word`, or "" where none is near (distance > 1/2 of its length).
std::string nearest(const std::string& word, std::span<const std::string> candidates);

}  // namespace flowtrain
