#pragma once
// The place of a loader in its stream of samples.

#include <cstdint>

namespace flowtrain {

/// The position in a stream of samples: those of `epoch` that were handed out, by all ranks together. At the number of
/// samples of an epoch, the next batch is the first of the next epoch.
struct StreamPosition {
  std::uint64_t epoch = 0, samples = 0;

  bool operator==(const StreamPosition&) const = default;
};

/// Moves through the epochs of a stream, batch by batch.
class EpochCursor {
 public:
  /// An epoch has `samples`; a batch has `batch` of them, of all ranks. With `drop_last` an epoch leaves out the rest
  /// that fills no batch.
  EpochCursor(std::uint64_t samples, std::uint64_t batch, bool drop_last)
      : samples_(samples), batch_(batch), drop_last_(drop_last) {}

  std::uint64_t samples() const { return samples_; }
  std::uint64_t batch_size() const { return batch_; }
  const StreamPosition& position() const { return position_; }
  /// Returns the batches of an epoch after its first `samples`, on every rank.
  std::uint64_t batches_after(std::uint64_t samples) const;
  /// Returns the batches after position() in its epoch.
  std::uint64_t batches_left() const { return batches_after(position_.samples); }
  /// Returns the batches that this epoch may still hand out; 0 before begin_epoch() and after end().
  std::uint64_t left() const { return left_; }

  /// Begins the next epoch, or continues one that seek() has set. Returns false if the next batch is not the one that
  /// follows the last: the rest of an epoch is left out.
  bool begin_epoch();
  /// Counts a batch as handed out.
  void advance();
  /// Sets the position at which the next epoch continues. Throws UserError(usage) for a position outside the stream.
  void seek(StreamPosition position);
  /// Hands out no more of this epoch.
  void end() { left_ = 0; }

 private:
  std::uint64_t samples_, batch_;
  bool drop_last_;
  StreamPosition position_;
  bool fresh_ = true;  // the next begin_epoch() continues from position_
  std::uint64_t left_ = 0;
};

}  // namespace flowtrain
