#pragma once
// Batches of records of like length, so that little of them is padding.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/batches.h"

namespace flowtrain {

struct BucketedOptions {
  std::uint64_t budget;         ///< bound of a batch's positions: rows times the longest row; > 0
  std::uint64_t most_rows = 0;  ///< bound of a batch's rows; 0: the budget alone bounds them
  LastBatch last = LastBatch::pad;
  std::uint64_t seed = 0;
  bool shuffled = true;  ///< false: rows and batches by length, as validation wants them
  /// Bound of a bucket's share of padding if each row were as long as the bucket's longest: the smaller, the smaller
  /// are the buckets in which records are shuffled.
  double padding = 0.05;
  /// Whole batches that a bucket holds at least, whatever its padding; > 0. If there are few batches in all, an eighth
  /// of them is enough, and at least 2.
  std::uint64_t least_batches = 8;
};

/// The batches of each epoch. Records are sorted by length once, and cut into buckets, whose batches have as many rows
/// as the budget holds of the bucket's longest record. In each epoch a keyed permutation shuffles each bucket, and
/// another one deals the batches of all buckets (after the bucket samplers of torchtext and lhotse, but a pure function
/// of the seed, the epoch and the number). The last batch of each bucket is wrapped, dropped or padded.
///
/// A length of 0 counts as 1. A record longer than the budget is a batch of its own. Making it takes O(n); any batch is
/// then reached in O(log(buckets) + rows). It keeps 4 bytes a record. Const methods may be called from any thread.
class BucketedBatches {
 public:
  /// `lengths` has an element for each record, and must outlive this. Throws UserError(usage) for 2^32 records or more,
  /// and when dropping leaves nothing.
  BucketedBatches(std::span<const std::uint32_t> lengths, const BucketedOptions& options);

  /// Returns the number of batches, the same in each epoch; > 0.
  std::uint64_t batches() const { return batches_; }
  std::uint64_t buckets() const { return buckets_.size(); }
  /// Calls `body` with the most rows of a batch of each bucket, and the bucket's records.
  template <class Body>
  void each_bucket(Body body) const {
    for (auto& bucket : buckets_) body(bucket.rows, std::span(sorted_).subspan(bucket.first, bucket.size));
  }
  /// Returns the number of rows of a batch.
  std::uint64_t rows(std::uint64_t epoch, std::uint64_t number) const { return place(epoch, number).rows; }
  /// Returns the rows of the batch that has most of them.
  std::uint64_t most_rows() const;
  /// Returns the longest record's length, at least 1.
  std::uint32_t most_length() const;
  /// Returns the memory that this takes beside the lengths.
  std::uint64_t bytes() const;

  /// Replaces `ids` by the records of batch `number` (< batches()) of `epoch`, and returns the length of the longest.
  std::uint32_t batch(std::uint64_t epoch, std::uint64_t number, std::vector<std::uint64_t>& ids) const;

 private:
  /// The records sorted_[first], sorted_[first + 1] …
  struct Bucket {
    std::uint64_t first, size, rows, first_batch;
  };

  struct Place {
    std::uint64_t bucket, begin, rows;  ///< the batch has rows `begin` … of its bucket's order
  };
  Place place(std::uint64_t epoch, std::uint64_t number) const;
  std::uint32_t length(std::uint64_t place) const { return std::max(1u, lengths_[sorted_[place]]); }
  Bucket longest_before(std::uint64_t end) const;
  void cut();
  void number_batches();

  std::span<const std::uint32_t> lengths_;
  BucketedOptions options_;
  std::vector<std::uint32_t> sorted_;  ///< records by (length, record)
  std::vector<Bucket> buckets_;        ///< the shortest records first
  std::uint64_t batches_ = 0;
};

}  // namespace flowtrain
