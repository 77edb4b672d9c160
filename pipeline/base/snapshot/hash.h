#pragma once
// xxHash64 (Yann Collet, xxhash.com) is fast, and good enough to find damage. It is no defence against forgery.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flowtrain {

/// Returns the hash of `bytes` with seed 0 as 16 lower-case hex digits, most significant first.
std::string xxh64_hex(std::span<const std::byte> bytes);
std::string xxh64_hex(std::string_view text);

/// Hashes a stream of pieces to the result of xxh64_hex() for the whole. The state can be saved as text, so that a
/// resumed run continues it; the library cannot do that, so its few lines of arithmetic are here (xxHash's
/// doc/xxhash_spec.md).
class Xxh64 {
 public:
  Xxh64();

  void update(std::span<const std::byte> bytes);
  /// Returns the hash of all bytes so far, spelled as by xxh64_hex(); more may follow.
  std::string hex() const;

  /// Returns the state as one word of text: "xxh64-<hex digits>".
  std::string save() const;
  /// Reads the text of save(). Throws UserError(snapshot) for any other text.
  static Xxh64 restore(std::string_view text);

 private:
  static constexpr std::size_t stripe_bytes = 32;

  void mix(const std::byte* stripe);

  std::array<std::uint64_t, 4> lanes_;
  std::uint64_t total_bytes_ = 0;
  std::array<std::byte, stripe_bytes> held_{};  // the last total_bytes_ % 32 bytes, less than one stripe
};

}  // namespace flowtrain
