#pragma once
// Numbers and words read from texts.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace flowtrain {

/// The number that all of `text` makes up; nothing if it is no number or does not fit. `base`: as of std::from_chars.
template <class Number, class... Base>
std::optional<Number> parse_number(std::string_view text, Base... base) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base...);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

/// The text without the `blanks` at its beginning and end.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n\v\f") {
  const auto begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// The text with small letters for ASCII capitals.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace flowtrain
