#include "sampling/core/utf8.h"

#include <cstdint>
#include <cstring>

namespace flowtrain {
namespace {

/// Returns the length of the character at the beginning of `text` (not empty); 0 if it begins with none (RFC 3629:
/// neither longer forms than needed, nor surrogates, nor code points beyond U+10FFFF).
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

std::optional<std::size_t> first_not_utf8(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t eight = high_bits;
    if (text.size() - at >= sizeof eight) std::memcpy(&eight, text.data() + at, sizeof eight);
    const auto length = (eight & high_bits) == 0 ? sizeof eight : character_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string as_utf8(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string all;
  std::size_t begin = 0;  // beginning of what is not yet copied
  for (std::size_t at = 0; at < text.size();) {
    if (const auto length = character_length(text.substr(at))) {
      at += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[at]);
    all += text.substr(begin, at - begin);
    all += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    begin = ++at;
  }
  all += text.substr(begin);
  return all;
}

}  // namespace flowtrain
