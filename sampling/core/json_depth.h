#pragma once
// The limit of nesting in JSON that others wrote.

#include <string_view>

namespace flowtrain {

/// The most lists and objects within each other that are read. Libraries copy, compare and write JSON with a call for
/// each level, so a text of brackets alone would take all of the stack.
inline constexpr int deepest_json = 100;

/// Returns whether lists and objects of a JSON text are nested deeper than deepest_json. The text may be malformed.
inline bool is_nested_too_deep(std::string_view json) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char each = json[i];
    if (in_text) {
      if (each == '\\') ++i;
      in_text = each != '"';
    } else if (each == '"') {
      in_text = true;
    } else if (each == '[' || each == '{') {
      if (++depth > deepest_json) return true;
    } else if (each == ']' || each == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace flowtrain
