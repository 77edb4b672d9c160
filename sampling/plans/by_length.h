#pragma once
// Records sorted by their lengths: the beginning of every plan that gives batches their shape.

#include <cstdint>
#include <span>
#include <vector>

namespace flowtrain {

/// Returns the records 0 … lengths.size() - 1 sorted by (length, record), in O(n). Throws UserError(usage) for 2^32
/// records or more, InternalError for none.
std::vector<std::uint32_t> records_by_length(std::span<const std::uint32_t> lengths);

/// Returns where the records of `length` or more begin among the first `end` of `sorted`, in O(log) of their number.
std::size_t begin_of_length(std::span<const std::uint32_t> sorted, std::span<const std::uint32_t> lengths,
                            std::size_t end, std::uint32_t length);

}  // namespace flowtrain
