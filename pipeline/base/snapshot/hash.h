#pragma once
// xxHash64 (Yann Collet, xxhash.com): fast, and good enough to find damage. It is no defence against forgery.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flowtrain {

/// The hash of `bytes` with seed 0 as 16 lower-case hex digits, most significant first.
std::string xxh64_hex(std::span<const std::byte> bytes);
std::string xxh64_hex(std::string_view text);

/// Hashes a stream of pieces as xxh64_hex() hashes the whole. The state can be saved as text, so that a resumed run
/// goes on hashing; the library offers no way to do that, so the stream's few lines of arithmetic are here (xxHash's
/// doc/xxhash_spec.md).
class Xxh64 {
 public:
  Xxh64();

  void update(std::span<const std::byte> bytes);
  /// The hash of all bytes so far, as xxh64_hex() spells it; more may follow.
  std::string hex() const;

  /// The state as one word of text: "xxh64-<hex digits>".
  std::string save() const;
  /// The inverse. Throws UserError(snapshot) for anything that save() cannot have written.
  static Xxh64 restore(std::string_view text);

 private:
  static constexpr std::size_t stripe_bytes = 32;

  void mix(const std::byte* stripe);

  std::array<std::uint64_t, 4> lanes_;
  std::uint64_t total_bytes_ = 0;
  std::array<std::byte, stripe_bytes> held_{};  // the last total_bytes_ % 32 bytes, less than one stripe
};

}  // namespace flowtrain
