#include <algorithm>
#include <bit>

#include "sampling/core/error.h"
#include "sampling/core/random.h"
#include "sampling/order.h"

namespace flowtrain {
namespace {

/// Hashes one half to `bits` bits by a key. Two multiplications with a fold in between carry every bit of the half and
/// of the key to the top bits, which are the result. It need not resist an adversary, only leave no pattern that
/// training could see: with six rounds the joint distribution of neighbouring points cannot be distinguished from
/// chance over 10^6 points, with four it can.
std::uint64_t round_hash(std::uint64_t half, std::uint64_t key, int bits) {
  constexpr std::uint64_t multiplier = 0xd6e8feb86659fd93ULL;
  std::uint64_t hash = (half + key) * multiplier;
  hash ^= hash >> 32;
  return hash * multiplier >> (64 - bits);
}

std::uint64_t low_mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t key) : n_(n) {
  if (n == 0) throw InternalError("a permutation of nothing");
  // The walks of three among 16 points are measurably biased for any number of rounds; on 64 they are not.
  const int bits = std::max(6, static_cast<int>(std::bit_width(n - 1)));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
  // Halves of few bits have few round functions, so they need more rounds.
  rounds_ = bits > 8 ? 6 : max_rounds;
  for (int round = 0; round < rounds_; ++round)
    round_keys_[round] = mix64(key + (static_cast<std::uint64_t>(round) + 1) * 0x9e3779b97f4a7c15ULL);
}

std::uint64_t Permutation::operator()(std::uint64_t x) const {
  do {
    std::uint64_t left = x >> right_bits_, right = x & low_mask(right_bits_);
    for (int round = 0; round < rounds_; round += 2) {
      left ^= round_hash(right, round_keys_[round], left_bits_);
      right ^= round_hash(left, round_keys_[round + 1], right_bits_);
    }
    x = left << right_bits_ | right;
  } while (x >= n_);
  return x;
}

std::uint64_t Permutation::inverse(std::uint64_t y) const {
  do {
    std::uint64_t left = y >> right_bits_, right = y & low_mask(right_bits_);
    for (int round = rounds_; round > 0; round -= 2) {
      right ^= round_hash(left, round_keys_[round - 1], right_bits_);
      left ^= round_hash(right, round_keys_[round - 2], left_bits_);
    }
    y = left << right_bits_ | right;
  } while (y >= n_);
  return y;
}

}  // namespace flowtrain
