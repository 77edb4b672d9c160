#pragma once
// Counter-based random numbers: every draw is a pure function of (seed, purpose, position, draw index), so it does not
// depend on workers, timing or earlier draws.

#include <array>
#include <cstdint>

namespace flowtrain {

/// Computes Philox4x32-10: J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11; checked against the
/// known answers of its reference implementation (Random123).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// The purpose of a draw; two purposes never share a number.
enum class Purpose : std::uint32_t {
  order = 1,
  sample = 2,
  substitute = 3,
  net = 4,
  dataset = 5,
  init = 6,
  mix = 7,
  erase = 8,
  color = 9,
  size = 10,
  token = 11
};

/// The random numbers of one position. Cheap to make; one thread at a time.
class Stream {
 public:
  Stream(std::uint64_t seed, Purpose purpose, std::uint64_t position);

  std::uint32_t next();
  std::uint64_t next64();
  /// Returns a uniform number in [0, 1) with 53 random bits.
  double uniform();
  /// Returns a uniform number in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Returns an unbiased integer in [0, n), n > 0 (D. Lemire, "Fast Random Integer Generation in an Interval", 2019).
  std::uint64_t below(std::uint64_t n);
  /// Returns a standard normal number (Box-Muller; both halves are used).
  double normal();

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

/// Mixes 64 bits bijectively: SplitMix64's finaliser (G. Steele et al., OOPSLA'14).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace flowtrain
