#pragma once
// Values that are more than a number or a text: periods, shares, and numbers or a word in their place.

#include <cstdint>
#include <optional>
#include <string>

#include "stages/core/every.h"
#include "stages/core/table_keys.h"

namespace flowtrain {

/// The time between two events: `500` iterations, `"2 epochs"`, `"10 per epoch"`, `"30 min"`; 0 = never.
struct Period {
  enum class Unit { iterations, epochs, per_epoch, seconds };
  Unit unit = Unit::iterations;
  std::uint64_t count = 0;

  bool off() const { return count == 0; }
  /// Returns the seconds of a period by the clock, otherwise 0.
  double seconds() const { return unit == Unit::seconds ? static_cast<double>(count) : 0; }
  /// Converts the period to iterations; off for "never" and for periods by the clock. `epoch` is in iterations. If an
  /// iteration is one batch, "n per epoch" is rounded to the nearest whole number of iterations, at least 1; otherwise
  /// its times divide the epoch evenly. A period beyond 64 bits becomes the greatest number.
  Every to_iterations(const Every& epoch) const;
};

/// Reads a period; `by_clock` allows "90 s", "30 min" and "2 h". Throws UserError(usage) without the key.
Period parse_period(const Value& value, bool by_clock = false);

/// A part of a whole: a number of things, or a percentage: `20`, `"0.1%"`.
struct Share {
  bool relative = false;
  std::uint64_t count = 0;
  double fraction = 0;  ///< value 0 … 1; relative ones only

  /// Returns the number out of `total`, rounded down; a relative share above 0 is at least 1.
  std::uint64_t of(std::uint64_t total) const;
};

/// Throws UserError(usage) with the expected form, without naming a key.
Share parse_share(const Value& value);

/// Returns the number of damaged samples that a data set of `samples` may have, by its keys `bad` and `max_bad`.
std::uint64_t bad_sample_budget(const Settings& data, std::uint64_t samples);

/// Reads a key of a table; messages name it and where it was written.
Period period(const Settings& settings, const std::string& key, bool by_clock = false);
inline Period period(const Setting<Value>& key, bool by_clock = false) {
  return period(key.table(), key.key(), by_clock);
}
Share share(const Settings& settings, const std::string& key);

/// Returns the number of a key that takes a number or one word ("auto", "random"); nothing if it holds the word.
std::optional<std::int64_t> number(const Settings& settings, const std::string& key);
inline std::optional<std::int64_t> number(const Setting<Value>& key) { return number(key.table(), key.key()); }

}  // namespace flowtrain
