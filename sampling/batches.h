#pragma once
// Arithmetic that cuts the endless stream of positions into batches and epochs.

#include <algorithm>
#include <cstdint>

#include "sampling/core/error.h"

namespace flowtrain {

/// The use of the last rows of an epoch if the batch size does not divide the number of samples.
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
  /// Returns the largest number of rows that any rank takes of a batch.
  std::uint64_t most(std::uint64_t rows) const { return (rows + world - 1) / world; }
};

/// The batches of a stream, numbered from 0; no batch spans two epochs.
class Batches {
 public:
  /// `samples` per epoch and `batch` rows, both > 0. Throws UserError(usage) when dropping leaves nothing.
  Batches(std::uint64_t samples, std::uint64_t batch, LastBatch last) : Batches(samples, batch, last, 0, 0) {
    keys_samples_ = false;
  }
  /// Makes a stream that begins after the first `done` samples of `epoch`. Its rows are keyed by sample instead of by
  /// batch, so any batch size draws the same for each. LastBatch::wrap, which repeats samples, is not allowed.
  Batches(std::uint64_t samples, std::uint64_t batch, LastBatch last, std::uint64_t epoch, std::uint64_t done)
      : samples_(samples), batch_(batch), last_(last), epoch_(epoch), done_(done), begun_(count(samples - done)) {
    if (last == LastBatch::drop && samples < batch)
      throw UserError(ExitCode::usage,
                      "loader.last_batch = \"drop\" leaves no batch: the data set has " + std::to_string(samples) +
                          " samples, a batch has " + std::to_string(batch),
                      "set a smaller loader.batch, or loader.last_batch = \"wrap\"");
  }

  /// Returns every `world`-th of these batches from number `rank` on, renumbered from 0, with unchanged positions of
  /// their rows: processes then take turns with whole batches. It holds for one epoch; per_epoch() may be 0.
  Batches every(std::uint64_t rank, std::uint64_t world) const {
    Batches some = *this;
    some.first_ = rank, some.step_ = world;
    return some;
  }

  /// Returns the number of rows of a whole batch, over all processes.
  std::uint64_t size() const { return batch_; }
  std::uint64_t per_epoch() const { return (count(samples_) + step_ - 1 - first_) / step_; }
  std::uint64_t epoch(std::uint64_t number) const { return place(number).epoch; }
  /// Returns the number of rows of batch `number`: `batch`, or fewer at the end of a padded epoch.
  std::uint64_t rows(std::uint64_t number) const {
    return last_ == LastBatch::pad ? std::min(batch_, samples_ - place(number).first) : batch_;
  }
  /// Returns the place of a row within its epoch's order.
  std::uint64_t index(std::uint64_t number, std::uint64_t row) const { return (place(number).first + row) % samples_; }
  /// Returns the end of an epoch's order.
  std::uint64_t epoch_end() const { return samples_; }
  /// Returns the position that keys everything drawn for the row; no two rows of the stream share one.
  std::uint64_t position(std::uint64_t number, std::uint64_t row) const {
    if (!keys_samples_) return (first_ + number * step_) * batch_ + row;
    const auto [epoch, first] = place(number);
    return epoch * samples_ + first + row;
  }

 private:
  struct Place {
    std::uint64_t epoch, first;  ///< first sample of the batch within the epoch
  };

  std::uint64_t count(std::uint64_t samples) const {
    return last_ == LastBatch::drop ? samples / batch_ : (samples + batch_ - 1) / batch_;
  }
  Place place(std::uint64_t number) const {
    number = first_ + number * step_;
    if (number < begun_) return {epoch_, done_ + number * batch_};
    number -= begun_;
    return {epoch_ + 1 + number / count(samples_), number % count(samples_) * batch_};
  }

  std::uint64_t samples_, batch_;
  LastBatch last_;
  std::uint64_t epoch_, done_, begun_;  ///< `begun_`: number of batches of the epoch in which the stream begins
  std::uint64_t first_ = 0, step_ = 1;
  bool keys_samples_ = true;
};

}  // namespace flowtrain
