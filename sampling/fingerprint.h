#pragma once
// Hashes of many parts, to notice what has changed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace flowtrain {

struct Box;

/// xxHash64 of `part` after the parts whose fingerprint is `before`: it depends on each, on their order, and on where
/// one ends and the next begins.
std::uint64_t fingerprint_of(std::string_view part, std::uint64_t before = 0);
std::uint64_t fingerprint_of(std::span<const std::byte> part, std::uint64_t before = 0);
std::uint64_t fingerprint_of(std::uint64_t part, std::uint64_t before = 0);
std::uint64_t fingerprint_of(std::span<const Box> part, std::uint64_t before = 0);

}  // namespace flowtrain
