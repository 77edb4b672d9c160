#include "pipeline/runs/watch/styled.h"

#include <wchar.h>

#include <algorithm>
#include <cstdint>

namespace flowtrain::watch {
namespace {

// The first character of a text: its number of bytes and its code point; U+FFFD if it is not UTF-8.
struct Character {
  std::size_t bytes;
  char32_t point;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xF0 && lead < 0xF8 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead >= 0xF8 || text.size() < bytes) return {1, 0xFFFD};
  char32_t point = lead & (0xFF >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {1, 0xFFFD};
    point = point << 6 | (byte(i) & 0x3F);
  }
  return {bytes, point};
}

bool is_control(char32_t point) {
  // These are control characters of ASCII and Latin-1, and characters that change the direction of a text.
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

// Returns the columns of a character; 1 for characters that a locale without UTF-8 does not know.
int columns_of(char32_t point) {
  if (point < 0x300) return 1;
  return std::max(::wcwidth(static_cast<wchar_t>(point)), point >= 0x2500 && point < 0x2900 ? 1 : 0);
}

std::string_view sequence(Style style) {
  switch (style) {
    case Style::plain: return "";
    case Style::bold: return "\033[1m";
    case Style::dim: return "\033[2m";
    case Style::accent: return "\033[36m";
    case Style::second: return "\033[33m";
    case Style::good: return "\033[32m";
    case Style::bad: return "\033[31m";
  }
  return "";
}

}  // namespace

int width_of(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const auto character = first_character(text);
    width += columns_of(character.point);
    text.remove_prefix(character.bytes);
  }
  return width;
}

Row& Row::add(std::string_view text, Style style) {
  std::string clean;
  while (!text.empty()) {
    const auto character = first_character(text);
    if (is_control(character.point))
      clean += ' ';
    else if (character.point == 0xFFFD)
      clean += '?';
    else
      clean += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  width_ += width_of(clean);
  spans_.push_back({std::move(clean), style});
  return *this;
}

void Row::cut(int columns) {
  if (width_ <= columns) return;
  width_ = 0;
  for (auto& span : spans_) {
    std::size_t kept = 0;
    while (kept < span.text.size()) {
      const auto character = first_character(std::string_view(span.text).substr(kept));
      if (width_ + columns_of(character.point) > columns) {
        columns = width_;  // later characters must not follow one that was cut
        break;
      }
      width_ += columns_of(character.point);
      kept += character.bytes;
    }
    span.text.resize(kept);
  }
}

std::string Row::text(bool with_colour) const {
  std::string text;
  for (auto& span : spans_) {
    const bool styled = with_colour && span.style != Style::plain && !span.text.empty();
    if (styled) text += sequence(span.style);
    text += span.text;
    if (styled) text += "\033[0m";
  }
  return text;
}

}  // namespace flowtrain::watch
