#pragma once
// xxHash64 (Yann Collet, xxhash.com): fast, and good enough to find damage. It is no defence against forgery.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH64_state_s;  // of xxhash.h, which stays out of this header

namespace flowtrain {

/// The hash of `bytes` with seed 0 as 16 lower-case hex digits, most significant first.
std::string xxh64_hex(std::span<const std::byte> bytes);
std::string xxh64_hex(std::string_view text);

/// The same hash over a stream of pieces. Its state can be saved as text, so that a resumed run goes on hashing.
class Xxh64 {
 public:
  Xxh64();

  void update(std::span<const std::byte> bytes);
  /// The hash of all bytes so far, as xxh64_hex() spells it; more may follow.
  std::string hex() const;

  /// The state as one word of text: "xxh64-<version of xxHash>-<hex digits>".
  std::string save() const;
  /// The inverse. Throws UserError(snapshot) for anything save() of this version of xxHash cannot have written.
  static Xxh64 restore(std::string_view text);

 private:
  struct Free {
    void operator()(XXH64_state_s* state) const;
  };
  std::unique_ptr<XXH64_state_s, Free> state_;
};

}  // namespace flowtrain
