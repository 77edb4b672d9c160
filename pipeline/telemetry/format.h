#pragma once
// Numbers as people read them.

#include <cstdint>
#include <string>

namespace flowtrain {

/// Seconds, rounded: "0s", "59s", "1m15s", "2h03m", "3d04h"; "?" for negative or non-finite ones.
std::string format_duration(double duration_s);
/// With separators: 1234567 → "1,234,567".
std::string format_count(std::uint64_t count);
/// A loss, of a width that does not jump about: "0.4312"; in scientific notation below 0.001 and from 1,000 on.
std::string format_loss(double loss);
/// A learning rate: up to four digits, "0.05", "1.25e-05".
std::string format_rate(double rate);
/// In powers of 1000: "61.7 kB", "1.25 GB"; below 1000 "512 B".
std::string format_bytes(std::uint64_t bytes);

}  // namespace flowtrain
