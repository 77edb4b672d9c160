#include "sampling/plans/by_length.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr int digit_bits = 16;

/// Sorts records by the digit of their lengths that begins at bit `shift`; equal ones keep their order. `from` is empty
/// for all records in their own order.
void sort_by_digit(std::span<const std::uint32_t> lengths, int shift, std::span<const std::uint32_t> from,
                   std::span<std::uint32_t> into) {
  const auto digit = [shift](std::uint32_t length) { return length >> shift & ((1u << digit_bits) - 1); };
  std::vector<std::uint64_t> next((1 << digit_bits) + 1);
  for (const auto length : lengths) ++next[digit(length) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::uint32_t i = 0; i < lengths.size(); ++i) {
    const auto record = from.empty() ? i : from[i];
    into[next[digit(lengths[record])]++] = record;
  }
}

}  // namespace

std::vector<std::uint32_t> records_by_length(std::span<const std::uint32_t> lengths) {
  if (lengths.empty()) throw InternalError("a plan of no records");
  if (lengths.size() > std::numeric_limits<std::uint32_t>::max())
    throw UserError(ExitCode::usage,
                    concat("batches by length take less than 2^32 records; there are ", lengths.size()),
                    "divide the data set into several");
  std::vector<std::uint32_t> sorted(lengths.size());
  sort_by_digit(lengths, 0, {}, sorted);
  if (std::ranges::max(lengths) >> digit_bits == 0) return sorted;
  std::vector<std::uint32_t> twice(lengths.size());
  sort_by_digit(lengths, digit_bits, sorted, twice);
  return twice;
}

std::size_t begin_of_length(std::span<const std::uint32_t> sorted, std::span<const std::uint32_t> lengths,
                            std::size_t end, std::uint32_t length) {
  std::size_t step = 1;  // grows, so that a short run costs few looks
  while (step < end && lengths[sorted[end - step]] >= length) step *= 2;
  const auto from = sorted.begin() + static_cast<std::ptrdiff_t>(end - std::min(step, end));
  const auto to = sorted.begin() + static_cast<std::ptrdiff_t>(end);
  const auto found = std::ranges::lower_bound(from, to, length, {}, [&](auto record) { return lengths[record]; });
  return static_cast<std::size_t>(found - sorted.begin());
}

}  // namespace flowtrain
