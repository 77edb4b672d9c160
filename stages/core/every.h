#pragma once
// Periods in iterations: an action happens at the end of each; a period need not be a whole number of iterations.

#include <cstdint>
#include <limits>

namespace flowtrain {

/// `parts` periods take `length` iterations. A period ends with the iteration in which its last part falls, so the n-th
/// one ends with iteration ceil(n * length / parts), and no rounding adds up. An epoch is such a period: its length is
/// its number of batches, and train.accum are the parts.
struct Every {
  std::uint64_t length = 0;  ///< 0: never
  std::uint64_t parts = 1;

  constexpr Every(std::uint64_t iterations = 0, std::uint64_t in_parts = 1)  // NOLINT: a number of iterations is one
      : length(iterations), parts(in_parts) {}
  bool operator==(const Every&) const = default;

  constexpr bool off() const { return length == 0; }
  /// Returns the number of whole periods that are over after `iteration`.
  constexpr std::uint64_t ended(std::uint64_t iteration) const {
    return off() ? 0 : iteration / length * parts + iteration % length * parts / length;
  }
  /// Returns whether a period ends with this iteration.
  constexpr bool ends(std::uint64_t iteration) const {
    return iteration > 0 && ended(iteration) > ended(iteration - 1);
  }
  /// Returns whether this iteration is the first of a period.
  constexpr bool begins(std::uint64_t iteration) const { return !off() && (iteration <= 1 || ends(iteration - 1)); }
  /// Returns the number, from 0, of the period that `iteration` is reported in: the last one that ends with it,
  /// otherwise the one in which it begins.
  constexpr std::uint64_t number(std::uint64_t iteration) const {
    if (iteration == 0) return 0;
    return ends(iteration) ? ended(iteration) - 1 : ended(iteration - 1);
  }
  /// Returns the number of iterations until `periods` of them are over, or the greatest 64-bit number if it overflows.
  constexpr std::uint64_t iterations(std::uint64_t periods) const {
    std::uint64_t whole = 0;
    const std::uint64_t rest = (periods % parts * length + parts - 1) / parts;
    if (__builtin_mul_overflow(periods / parts, length, &whole) || __builtin_add_overflow(whole, rest, &whole))
      return std::numeric_limits<std::uint64_t>::max();
    return whole;
  }
  /// Returns the number of periods, with a fraction, in `iterations`.
  constexpr double periods(std::uint64_t iterations) const {
    return static_cast<double>(iterations) * static_cast<double>(parts) / static_cast<double>(length);
  }
  /// Returns the mean number of iterations of a period, with a fraction.
  constexpr double mean_length() const { return static_cast<double>(length) / static_cast<double>(parts); }
};

}  // namespace flowtrain
