#pragma once
// Finds the largest batch whose training step fits into memory (loader.batch = "auto"). See docs/training.md.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// The rows of a batch of one process.
struct FoundRows {
  std::uint32_t rows = 0;
  std::uint64_t bytes = 0, limit = 0;  ///< bytes that they take; bytes that they may take
  unsigned tries = 0;
};

/// Finds a process's rows; `config` has a batch of a few.
using FindRows = std::function<FoundRows(const Config& config)>;

/// Takes a step with a batch of so many rows. Returns the bytes that it took; nothing if it did not fit.
using TryRows = std::function<std::optional<std::uint64_t>(std::uint32_t rows)>;

/// Returns the largest number of rows up to `most` that take no more than `limit` bytes, to within three percent: by
/// doubling, then by bisection. The last two tries predict the bytes of a step: on a CPU one that is too large would
/// not fail, but end the process. rows = 0: not even one fits.
FoundRows find_rows(std::uint32_t most, std::uint64_t limit, const TryRows& attempt);

/// The name of a batch that stays open without training: a few samples stand for it.
inline constexpr char batch_left_open[] = "loader.batch = \"auto\", which is determined when training starts";
bool batch_is_left_open(const Config& config);
/// Logs that the batch stays open, if it does.
void tell_left_open_batch(const Config& config);

}  // namespace flowtrain
