#include "sampling/core/utf8.h"

#include <cstddef>

namespace flowtrain {
namespace {

/// The length of the character that `text` (not empty) begins with; 0 where it begins with none (RFC 3629: neither
/// longer forms than needed, nor surrogates, nor code points beyond U+10FFFF).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto within = [&](std::size_t i, unsigned first, unsigned last) { return byte(i) >= first && byte(i) <= last; };
  if (byte(0) < 0x80) return 1;
  if (within(0, 0xc2, 0xdf)) return within(1, 0x80, 0xbf) ? 2 : 0;
  if (within(0, 0xe0, 0xef)) {
    const unsigned first = byte(0) == 0xe0 ? 0xa0 : 0x80, last = byte(0) == 0xed ? 0x9f : 0xbf;
    return within(1, first, last) && within(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (!within(0, 0xf0, 0xf4)) return 0;
  const unsigned first = byte(0) == 0xf0 ? 0x90 : 0x80, last = byte(0) == 0xf4 ? 0x8f : 0xbf;
  return within(1, first, last) && within(2, 0x80, 0xbf) && within(3, 0x80, 0xbf) ? 4 : 0;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string all;
  while (!text.empty()) {
    const auto length = character_length(text);
    if (length > 0) {
      all += text.substr(0, length);
    } else {
      const auto byte = static_cast<unsigned char>(text.front());
      all += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return all;
}

}  // namespace flowtrain
