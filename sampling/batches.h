#pragma once
// How the endless stream of positions is cut into batches and epochs: pure arithmetic.

#include <algorithm>
#include <cstdint>

#include "sampling/core/error.h"

namespace flowtrain {

/// How the last rows of an epoch are used if the batch size does not divide the number of samples.
enum class LastBatch : std::uint8_t {
  wrap,  ///< the batch is filled up from the epoch's own start
  drop,  ///< the rest is left out
  pad,   ///< the batch is shorter; validation uses this, so that no sample counts twice
};

/// One process's part of every batch: rank r of a world of n takes the r-th of n pieces, which differ by at most one
/// row.
struct Slice {
  std::uint64_t rank = 0, world = 1;

  std::uint64_t begin(std::uint64_t rows) const { return rows * rank / world; }
  std::uint64_t rows(std::uint64_t of) const { return of * (rank + 1) / world - begin(of); }
  /// The most rows that any rank takes of a batch.
  std::uint64_t most(std::uint64_t rows) const { return (rows + world - 1) / world; }
};

/// Batches are numbered from 0 over all epochs; no batch spans two epochs.
class Batches {
 public:
  /// `samples` per epoch and `batch` rows, both > 0. Throws UserError(usage) when dropping leaves nothing.
  Batches(std::uint64_t samples, std::uint64_t batch, LastBatch last) : samples_(samples), batch_(batch), last_(last) {
    if (last == LastBatch::drop && samples < batch)
      throw UserError(ExitCode::usage,
                      "loader.last_batch = \"drop\" leaves no batch: the data set has " + std::to_string(samples) +
                          " samples, a batch has " + std::to_string(batch),
                      "set a smaller loader.batch, or loader.last_batch = \"wrap\"");
  }

  /// Rows of a whole batch, of all processes.
  std::uint64_t size() const { return batch_; }
  std::uint64_t per_epoch() const {
    return last_ == LastBatch::drop ? samples_ / batch_ : (samples_ + batch_ - 1) / batch_;
  }
  std::uint64_t epoch(std::uint64_t number) const { return number / per_epoch(); }
  /// Rows that batch `number` holds: `batch`, or fewer at the end of a padded epoch.
  std::uint64_t rows(std::uint64_t number) const {
    return last_ == LastBatch::pad ? std::min(batch_, samples_ - first(number)) : batch_;
  }
  /// Where a row stands within its epoch's order.
  std::uint64_t index(std::uint64_t number, std::uint64_t row) const { return (first(number) + row) % samples_; }
  /// Where an epoch's order ends.
  std::uint64_t epoch_end() const { return samples_; }
  /// The position that keys everything drawn for the row; no two rows of the stream share one.
  std::uint64_t position(std::uint64_t number, std::uint64_t row) const { return number * batch_ + row; }

 private:
  std::uint64_t first(std::uint64_t number) const { return number % per_epoch() * batch_; }

  std::uint64_t samples_, batch_;
  LastBatch last_;
};

}  // namespace flowtrain
