#include "sampling/tokens/byte_alphabet.h"

#include <array>

#include "sampling/tokens/unicode.h"

namespace flowtrain {
namespace {

constexpr bool is_printed(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
  std::array<char32_t, 256> characters{};
  std::array<int, 0x200> bytes{};

  constexpr Alphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      characters[byte] = is_printed(byte) ? byte : next++;
      bytes[characters[byte]] = static_cast<int>(byte);
    }
  }
};

constexpr Alphabet alphabet;

}  // namespace

char32_t byte_character(unsigned char byte) { return alphabet.characters[byte]; }

std::string in_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) unicode::append(text, byte_character(static_cast<unsigned char>(byte)));
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, size] = unicode::character_at(text, at);
    if (code >= alphabet.bytes.size() || alphabet.bytes[code] < 0) return std::nullopt;
    bytes += static_cast<char>(alphabet.bytes[code]);
    at += size;
  }
  return bytes;
}

std::optional<std::string> from_base64(std::string_view text) {
  static const auto values = [] {
    std::array<int, 256> all;
    all.fill(-1);
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < digits.size(); ++i) all[static_cast<unsigned char>(digits[i])] = static_cast<int>(i);
    return all;
  }();
  if (text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=') && text.size() % 4 != 2) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0, count = 0;
  for (const char digit : text) {
    const int value = values[static_cast<unsigned char>(digit)];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xff);
    }
  }
  return bytes;
}

}  // namespace flowtrain
