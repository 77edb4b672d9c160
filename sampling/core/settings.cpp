#include "sampling/core/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <type_traits>

#include "sampling/core/home.h"
#include "sampling/core/parse.h"
#include "sampling/core/spelling.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

std::string dotted(const std::string& table, const std::string& name) {
  return table.empty() ? name : table + "." + name;
}

/// Returns the start of every message about a value: "configs/a.toml:12:3: loader.batch: ".
std::string place(const Origin& origin, const std::string& table, const std::string& name) {
  return (origin.source.empty() ? "" : origin.text() + ": ") + dotted(table, name) + ": ";
}

const char* expectation(Kind kind) {
  static constexpr const char* names[] = {
      "true or false",      "an integer",        "a number",        "text in quotes",
      "a list of integers", "a list of numbers", "a list of texts", "an integer or text in quotes"};
  return names[static_cast<std::size_t>(kind)];
}

/// Returns a value with its type: `text "big"`.
std::string described(const Value& value) {
  static constexpr const char* names[] = {"boolean", "integer", "number", "text", "list", "list", "list"};
  return std::string(names[value.index()]) + " " + to_toml(value);
}

/// Returns whether one number may replace the key's list.
bool takes_one(const Key& key) {
  return key.kind == Kind::integers && std::holds_alternative<std::int64_t>(key.fallback);
}

/// Returns `value` as `key` stores it, or nothing if it is of another type. An empty list fits every list.
std::optional<Value> converted(const Key& key, Value value) {
  const Kind kind = key.kind;
  // All kinds but the last are in the order of Value's alternatives.
  if (value.index() == static_cast<std::size_t>(kind)) return value;
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value);
  if (kind == Kind::integer_or_text && (whole || std::holds_alternative<std::string>(value))) return value;
  if (whole && takes_one(key)) return value;
  if (kind == Kind::real && whole) return static_cast<double>(*whole);
  if (kind == Kind::reals && wholes) return std::vector<double>(wholes->begin(), wholes->end());
  if (to_toml(value) != "[]") return {};
  if (kind == Kind::integers) return std::vector<std::int64_t>();
  if (kind == Kind::reals) return std::vector<double>();
  if (kind == Kind::texts) return std::vector<std::string>();
  return {};
}

/// Returns a number as TOML writes it, also if the text lacks the digit before or after its point (".5", "5."). Nothing
/// if the text is no number, or if `whole` and it is not an integer.
std::optional<std::string> number_spelled(std::string text, bool whole) {
  const auto is_digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  if (text.starts_with('+')) text.erase(0, 1);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (text.substr(first).starts_with('.')) text.insert(first, "0");
  const auto point = text.find('.');
  if (point != text.npos && !is_digit(point + 1)) text.insert(point + 1, "0");
  if (!parse_number<double>(text) || !is_digit(first) || (whole && text.find_first_of(".eE") != text.npos)) return {};
  return text;
}

/// Returns what the user probably meant by a bare text that is not of `kind`, as TOML writes it: a list whose texts
/// lost their quotes, ".5", "True". Nothing if the text cannot be meant for this kind.
std::optional<std::string> spelled(Kind kind, std::string text) {
  if (kind == Kind::boolean) {
    text = lower_case(text);
    return text == "true" || text == "false" ? std::optional(text) : std::nullopt;
  }
  if (kind == Kind::real || kind == Kind::integer) return number_spelled(text, kind == Kind::integer);
  if (kind != Kind::texts && kind != Kind::reals && kind != Kind::integers) return {};
  if (text.starts_with('[')) text.erase(0, 1);
  if (text.ends_with(']')) text.pop_back();
  std::vector<std::string> list;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::string element(trimmed(part, " '\""));
    if (element.empty()) return {};
    const auto written =
        kind == Kind::texts ? std::optional(to_toml(Value(element))) : number_spelled(element, kind == Kind::integers);
    if (!written) return {};
    list.push_back(*written);
  }
  return "[" + join(list) + "]";
}

/// Returns a bound without a needless ".0".
std::string bound(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? std::to_string(static_cast<std::int64_t>(value))
                                                              : to_toml(value);
}

/// Returns the fault of a value of the right type, or "". `subject` is the beginning of the message.
template <class Number>
requires std::is_arithmetic_v<Number> std::string fault(const Key& key, Number number, const char* subject = "") {
  const auto real = static_cast<double>(number);
  if (real >= key.min && real <= key.max) return {};
  std::string wanted = "a number";  // the number is NaN or infinite
  if (std::isfinite(key.min) && std::isfinite(key.max))
    wanted = "from " + bound(key.min) + " to " + bound(key.max);
  else if (std::isfinite(key.min))
    wanted = "at least " + bound(key.min);
  else if (std::isfinite(key.max))
    wanted = "at most " + bound(key.max);
  return concat(subject, "must be ", wanted, ", got ", to_toml(number));
}

std::string fault(const Key& key, const std::string& text, const char* subject = "") {
  const auto& choices = key.choices;
  if (choices.empty() || std::ranges::find(choices, text) != choices.end()) return {};
  const std::string meant = similar(lower_case(text), choices);
  return concat(subject, "must be ", key.kind == Kind::integer_or_text ? "an integer or " : "",
                choices.size() > 1 ? "one of " : "", join(choices, ", ", to_toml), ", got ", to_toml(text),
                meant.empty() || choices.size() == 1 ? "" : concat("; did you mean ", to_toml(meant), "?"));
}

template <class T>
std::string fault(const Key& key, const std::vector<T>& list) {
  for (const auto& element : list)
    if (auto found = fault(key, element, "each element "); !found.empty()) return found;
  return {};
}

/// Returns "write it as --set 'val.metrics=[\"accuracy\"]'", or nothing if the text cannot be meant for this kind.
std::optional<std::string> spelling_hint(const std::string& key, Kind kind, const Value& value, const Origin& origin) {
  const auto* text = std::get_if<std::string>(&value);
  const auto meant = text ? spelled(kind, *text) : std::nullopt;
  if (!meant) return {};
  if (const bool in_file = origin.line > 0; in_file) return concat("write it as ", key, " = ", *meant);
  const auto* quote = meant->starts_with('[') ? "'" : "";  // a shell interprets brackets and double quotes
  return concat("write it as --set ", quote, key, "=", *meant, quote);
}

void expand_homes(Value& value) {
  if (auto* path = std::get_if<std::string>(&value)) *path = expand_home(*path);
  if (auto* paths = std::get_if<std::vector<std::string>>(&value))
    for (auto& path : *paths) path = expand_home(path);
}

template <class Slots>
auto& slot_of(const Slots& slots, const std::string& table, const std::string& name) {
  const auto found = slots.find(name);
  if (found == slots.end()) throw InternalError("no key " + dotted(table, name));
  return found->second;
}

}  // namespace

// It copies by assignment: without memory, libstdc++ 12 destroys the alternative that a copied variant never got.
// NOLINTNEXTLINE(bugprone-copy-constructor-init)
Value::Value(const Value& other) : variant() {
  std::visit([this](const auto& value) { *this = value; }, static_cast<const variant&>(other));
}

std::string Origin::text() const {
  if (source.empty()) return "default";
  return line > 0 ? source + ":" + std::to_string(line) + ":" + std::to_string(column) : source;
}

Settings::Settings(std::string table, std::vector<Key> keys) : table_(std::move(table)), keys_(std::move(keys)) {
  for (const auto& key : keys_) {
    auto fallback = converted(key, key.fallback);
    if (!fallback) throw InternalError("the default of " + dotted(table_, key.name) + " is not of its kind");
    if (!slots_.emplace(key.name, Slot{std::move(*fallback), {}}).second)
      throw InternalError("two keys called " + dotted(table_, key.name));
  }
}

void Settings::set(const std::string& name, const Value& value, Origin origin) {
  const auto where = place(origin, table_, name);
  const auto found = slots_.find(name);
  if (found == slots_.end()) {
    std::vector<std::string> known(keys_.size());
    std::ranges::transform(keys_, known.begin(), &Key::name);
    const auto near = similar(name, known);
    throw UserError(
        ExitCode::usage, where + "unknown key",
        (near.empty() ? "" : "did you mean '" + near + "'? ") + "known: " + (known.empty() ? "none" : join(known)));
  }
  const auto& key = this->key(name);
  const auto hint = key.help.empty() ? "" : dotted(table_, name) + ": " + key.help;
  auto stored = converted(key, value);
  if (!stored)
    throw UserError(ExitCode::usage,
                    where + "expected " + (takes_one(key) ? "an integer or " : "") + expectation(key.kind) + ", got " +
                        described(value),
                    spelling_hint(dotted(table_, name), key.kind, value, origin).value_or(hint));
  const auto wrong = std::visit([&](const auto& held) { return fault(key, held); }, *stored);
  if (!wrong.empty()) throw UserError(ExitCode::usage, where + wrong, hint);
  if (key.is_path) try {
      expand_homes(*stored);
    } catch (const UserError& error) {
      throw UserError(error.code(), where + error.what(), error.hint());
    }
  found->second = {std::move(*stored), std::move(origin)};
}

const Key& Settings::key(const std::string& name) const {
  const auto found = std::ranges::find(keys_, name, &Key::name);
  if (found == keys_.end()) throw InternalError("no key " + dotted(table_, name));
  return *found;
}

const Value& Settings::value(const std::string& name) const { return slot_of(slots_, table_, name).value; }

template <class T>
const T& Settings::as(const std::string& name) const {
  const auto* held = std::get_if<T>(&value(name));
  if (!held) throw InternalError(dotted(table_, name) + " was asked for as another type than it has");
  return *held;
}

bool Settings::boolean(const std::string& name) const { return as<bool>(name); }
std::int64_t Settings::integer(const std::string& name) const { return as<std::int64_t>(name); }
double Settings::real(const std::string& name) const { return as<double>(name); }
const std::string& Settings::text(const std::string& name) const { return as<std::string>(name); }
const std::vector<std::int64_t>& Settings::integers(const std::string& name) const {
  return as<std::vector<std::int64_t>>(name);
}
const std::vector<double>& Settings::reals(const std::string& name) const { return as<std::vector<double>>(name); }
const std::vector<std::string>& Settings::texts(const std::string& name) const {
  return as<std::vector<std::string>>(name);
}

const Origin& Settings::origin(const std::string& name) const { return slot_of(slots_, table_, name).origin; }

bool Settings::given(const std::string& name) const { return !origin(name).source.empty(); }

bool Settings::has(const std::string& name) const { return slots_.contains(name); }

void Settings::check_required(const std::string& where) const {
  for (const auto& key : keys_) {
    if (!key.required || given(key.name)) continue;
    throw UserError(ExitCode::usage,
                    (where.empty() ? "" : where + ": ") + dotted(table_, key.name) + ": must be given: " + key.help,
                    "set it in the configuration or with --set " + dotted(table_, key.name) + "=…");
  }
}

std::string Settings::place_of(const std::string& name) const { return place(origin(name), table_, name); }

UserError Settings::error(const std::string& name, const std::string& message, ExitCode code,
                          const std::string& hint) const {
  return UserError(code, place_of(name) + message, hint);
}

const char* label_key(const Settings& settings) { return settings.text("label").empty() ? "name" : "label"; }

const std::string& label_of(const Settings& settings) { return settings.text(label_key(settings)); }

const Key* find_key(const std::vector<Key>& keys, const std::string& name) {
  const auto found = std::ranges::find(keys, name, &Key::name);
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace flowtrain
