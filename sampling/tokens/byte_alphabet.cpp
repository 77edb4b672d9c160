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

}  // namespace flowtrain
