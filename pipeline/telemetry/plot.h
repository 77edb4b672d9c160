#pragma once
// Curves in a terminal.

#include <span>
#include <string>

namespace flowtrain {

/// A line through `values` (at least one, finite), one column each and `rows` lines high, with the greatest and least
/// value on the left: eighths of blocks (U+2581 to U+2588), lines indented by `indent` spaces. `from_zero`: unless
/// there are values below, the lowest line begins there, and not with the least.
std::string plot(std::span<const double> values, unsigned rows, unsigned indent, bool from_zero = true);

}  // namespace flowtrain
