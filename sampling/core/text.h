#pragma once
// Builds texts from several parts.

#include <functional>
#include <sstream>
#include <string>
#include <string_view>

namespace flowtrain {

/// Concatenates the parts as `<<` prints them: concat("epoch ", 3, " done").
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  ((out << parts), ...);
  return std::move(out).str();
}

/// Joins the items as `<<` prints them, each passed through `item_text` first: join({"a", "b"}) is "a, b".
template <class Items, class Text = std::identity>
std::string join(const Items& items, std::string_view separator = ", ", const Text& item_text = {}) {
  std::ostringstream out;
  std::string_view before;
  for (const auto& item : items) {
    out << before << std::invoke(item_text, item);
    before = separator;
  }
  return std::move(out).str();
}

/// Returns the text before the first line break: an error of LibTorch without its stack trace.
inline std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace flowtrain
