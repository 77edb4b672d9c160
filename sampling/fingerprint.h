#pragma once
// Hashes of many parts, which show changes.

#include <xxhash.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sampling/dataset.h"

namespace flowtrain {

/// Returns xxHash64 of `part` after the parts whose fingerprint is `before`: it depends on each, on their order, and on
/// the borders between them.
inline std::uint64_t fingerprint_of(std::string_view part, std::uint64_t before = 0) {
  return XXH64(part.data(), part.size(), before);
}

inline std::uint64_t fingerprint_of(std::span<const std::byte> part, std::uint64_t before = 0) {
  return XXH64(part.data(), part.size(), before);
}

inline std::uint64_t fingerprint_of(std::uint64_t part, std::uint64_t before = 0) {
  return XXH64(&part, sizeof part, before);
}

inline std::uint64_t fingerprint_of(std::span<const Box> part, std::uint64_t before = 0) {
  for (const auto& box : part) {
    const std::array values{std::bit_cast<std::uint32_t>(box.x0),  std::bit_cast<std::uint32_t>(box.y0),
                            std::bit_cast<std::uint32_t>(box.x1),  std::bit_cast<std::uint32_t>(box.y1),
                            static_cast<std::uint32_t>(box.label), std::uint32_t{box.ignore}};
    before = fingerprint_of(std::as_bytes(std::span(values)), before);
  }
  return before;
}

/// Returns a 64-bit hash as 16 lower-case hex digits, most significant first.
inline std::string hash_hex(std::uint64_t hash) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); hash != 0; hash >>= 4) text[--i] = "0123456789abcdef"[hash & 15];
  return text;
}

}  // namespace flowtrain
