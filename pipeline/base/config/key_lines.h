#pragma once
// The tables of keys, and what their lines share.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/base/config/keys.h"

/// This namespace keeps short names away from other files.
namespace flowtrain::key_lines {

using enum Decides;

/// Return the tables of data and loaders, of the net and its training, and of what a run measures and writes.
const std::vector<KeyTable>& data_tables();
const std::vector<KeyTable>& model_tables();
const std::vector<KeyTable>& result_tables();

inline constexpr double most = 9e15;     // Integers up to here are exact as doubles.
inline constexpr double finite = 1e300;  // Infinity is refused.
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline const std::string period = "a number of iterations, \"2 epochs\", \"10 per epoch\", or 0 = never";

using Texts = std::vector<std::string>;
using Reals = std::vector<double>;

/// Bounds of a number, which may be equal to them.
struct Range {
  double min, max;
};

// These functions return a line. Their arguments: what the key decides, its name, default, bounds, and help.

inline CoreKey core(Decides decides, Key key) { return {decides, std::move(key)}; }

/// The default has the type of the key.
inline CoreKey key(Decides decides, const char* name, Value fallback, Range range, std::string help) {
  const auto kind = static_cast<Kind>(fallback.index());
  return {decides, {name, kind, std::move(fallback), std::move(help), range.min, range.max}};
}
inline CoreKey key(Decides decides, const char* name, Value fallback, std::string help) {
  return key(decides, name, std::move(fallback), {-infinity, infinity}, std::move(help));
}
/// The first choice is the default.
inline CoreKey choice(Decides decides, const char* name, Texts choices, std::string help) {
  CoreKey line = key(decides, name, choices.front(), std::move(help));
  line.key.choices = std::move(choices);
  return line;
}
/// Returns a key that takes a number or one of `words`; without words, a text that the reader of the key parses.
inline CoreKey number_or(Decides decides, const char* name, Texts words, Value fallback, Range range,
                         std::string help) {
  return {decides,
          {name, Kind::integer_or_text, std::move(fallback), std::move(help), range.min, range.max, std::move(words)}};
}
/// Makes a text, or texts, the path of a file or folder.
inline CoreKey path(CoreKey line) {
  line.key.is_path = true;
  return line;
}
inline CoreKey required(CoreKey line) {
  line.key.required = true;
  return line;
}
/// Makes a line lie idle unless all of `needs` are met.
inline CoreKey read_if(std::vector<Needs> needs, CoreKey line) {
  line.needs = std::move(needs);
  return line;
}

inline KeyTable table(const char* name, Decides parts, const char* help, std::vector<CoreKey> lines,
                      Repeats repeats = Repeats::no, std::map<std::string, Decides> other_parts = {}) {
  return {name, help, parts, std::move(lines), repeats, std::move(other_parts)};
}
/// Returns a table that stands any number of times.
inline KeyTable list(const char* name, Decides parts, const char* help, std::vector<CoreKey> lines) {
  return table(name, parts, help, std::move(lines), Repeats::yes);
}

}  // namespace flowtrain::key_lines
