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

}  // namespace flowtrain
