#pragma once
// Characters of UTF-8 texts, their classes and their normal forms (The Unicode Standard, chapter 4; UAX 15), by
// utf8proc.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flowtrain::unicode {

/// Classes of characters, as bits: each character is exactly one of letter, number, space and other.
enum Class : std::uint8_t {
  letter = 1,        ///< category L
  number = 2,        ///< category N
  space = 4,         ///< property White_Space
  other = 8,         ///< the rest, and bytes that are no character
  head = 16,         ///< Lu, Lt, Lm, Lo, M
  tail = 32,         ///< Ll, Lm, Lo, M
  word = 64,         ///< letters, marks, decimal digits, connectors and joiners: \w of UTS 18
  punctuation = 128  ///< category P, and ASCII's symbols
};

inline constexpr char32_t broken = 0x110000;  ///< a byte that is no part of a character; its class is other
inline constexpr std::size_t code_points = 0x110001;

/// Returns the classes of all code points, and of `broken`.
const std::uint8_t* classes();

struct Character {
  char32_t code;
  std::uint32_t bytes;
};

/// Returns the character at `at`, which is within the text; a byte that begins none is `broken`, and one byte long.
inline Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> char32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto further = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first >= 0xc2 && first <= 0xdf && further(1)) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first >= 0xe0 && first <= 0xef && further(1) && further(2)) {
    const char32_t code = (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    if (code >= 0x800 && (code < 0xd800 || code > 0xdfff)) return {code, 3};
  } else if (first >= 0xf0 && first <= 0xf4 && further(1) && further(2) && further(3)) {
    const char32_t code = (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    if (code >= 0x10000 && code < broken) return {code, 4};
  }
  return {broken, 1};
}

/// Returns the last character before `end`, which is not 0.
Character character_before(std::string_view text, std::size_t end);
/// Returns the end of the grapheme that begins at `at` (UAX 29).
std::size_t grapheme_end(std::string_view text, std::size_t at);
/// Appends a code point in UTF-8; U+FFFD for `broken`.
void append(std::string& text, char32_t code);

enum class Form { nfc, nfd, nfkc, nfkd };
/// Replaces `into` by the text in a normal form; bytes that are no characters become U+FFFD.
void normalize(std::string_view text, Form form, std::string& into);
/// Appends the character in lower case; some become two.
void append_lower(std::string& text, char32_t code);
/// Returns whether it is white space.
inline bool is_white(char32_t code) { return (classes()[code] & space) != 0; }
/// Returns whether it is a mark: any, or a non-spacing one (Mn).
bool is_mark(char32_t code);
bool is_nonspacing_mark(char32_t code);
/// Returns whether its category is Cc, Cf or Co.
bool is_control(char32_t code);
/// Returns whether its category is Nd, Nl or No.
inline bool is_number(char32_t code) { return (classes()[code] & number) != 0; }

}  // namespace flowtrain::unicode
