#pragma once
// Formats numbers, tables and curves for people.

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace flowtrain {

/// Returns the text that printf prints, up to 255 characters.
template <class... Values>
std::string printed(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Formats rounded seconds: "0s", "59s", "1m15s", "2h03m", "3d04h"; "?" if negative or not finite.
std::string format_duration(double duration_s);
/// Formats with separators: 1234567 → "1,234,567".
std::string format_count(std::uint64_t count);
/// Formats a loss to a steady width: "0.4312"; in scientific notation below 0.001 and from 1,000 on.
std::string format_loss(double loss);
/// Formats a learning rate with up to four digits: "0.05", "1.25e-05".
std::string format_rate(double rate);
/// Formats bytes in powers of 1000: "61.7 kB", "1.25 GB"; below 1000 "512 B".
std::string format_bytes(std::uint64_t bytes);

/// Draws a line through `values` (at least one, finite), one column each and `rows` lines high, with the greatest and
/// least value on the left: eighths of blocks (U+2581 to U+2588), lines indented by `indent` spaces. `from_zero`: the
/// lowest line begins at zero, unless there are values below, and not at the least value.
std::string plot(std::span<const double> values, unsigned rows, unsigned indent, bool from_zero = true);

}  // namespace flowtrain
