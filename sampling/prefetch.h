#pragma once
// Small records of a large data set are scattered in memory: while one is in work, the start of the next ones is
// fetched into the processor's cache. The processor then fetches the rest by itself.

#include <algorithm>
#include <cstddef>

#include "sampling/dataset.h"

namespace flowtrain {

inline constexpr std::size_t rows_ahead = 4;  ///< number of records by which fetching is ahead

/// Starts to fetch the record's first bytes; returns at once.
inline void prefetch(const Record& record) {
  constexpr std::size_t bytes_ahead = 1024, cache_line = 64;
  const std::size_t bytes = std::min(record.bytes.size(), bytes_ahead);
  for (std::size_t at = 0; at < bytes; at += cache_line) __builtin_prefetch(record.bytes.data() + at);
}

}  // namespace flowtrain
