#include "sampling/plans/bucketed_batches.h"

#include <algorithm>

#include "sampling/core/text.h"
#include "sampling/order.h"
#include "sampling/orders/entries.h"
#include "sampling/plans/by_length.h"

namespace flowtrain {

BucketedBatches::BucketedBatches(std::span<const std::uint32_t> lengths, const BucketedOptions& options)
    : lengths_(lengths), options_(options), sorted_(records_by_length(lengths)) {
  if (options.budget == 0 || options.least_batches == 0) throw InternalError("batches by length that hold nothing");
  std::uint64_t positions = 0;
  for (const auto each : lengths) positions += std::max(1u, each);
  constexpr std::uint64_t most_share = 16, least = 2;  // a bucket of a sixteenth of all batches is large enough
  const std::uint64_t few = std::max(least, positions / options.budget / most_share);
  options_.least_batches = std::min(options.least_batches, few);
  cut();
  number_batches();
}

/// Returns the bucket of the longest records among the first `end`: as many as its padding allows, or `least_batches`
/// ask for. The share of padding only grows with each shorter record, so this is the largest such bucket.
BucketedBatches::Bucket BucketedBatches::longest_before(std::uint64_t end) const {
  const std::uint64_t longest = length(end - 1);
  std::uint64_t rows = std::max<std::uint64_t>(1, options_.budget / longest);
  if (options_.most_rows > 0) rows = std::min(rows, options_.most_rows);
  const auto least = options_.least_batches * rows;
  std::uint64_t first = end, filled = 0;
  while (first > 0) {
    const auto next = length(first - 1);  // 1 stands for 0, too
    const std::uint64_t begin = next == 1 ? 0 : begin_of_length(sorted_, lengths_, first, next);
    const auto filled_then = filled + (first - begin) * next;
    const auto positions = static_cast<double>(longest) * static_cast<double>(end - begin);
    if (static_cast<double>(filled_then) < (1 - options_.padding) * positions) {
      if (end - first < least) first = std::max(begin, end - std::min(end, least));
      if (end - first >= least) break;
    }
    first = begin;
    filled = filled_then;
  }
  return {first, end - first, rows, 0};
}

void BucketedBatches::cut() {
  for (std::uint64_t end = sorted_.size(); end > 0; end = buckets_.back().first) {
    const auto bucket = longest_before(end);
    const bool small = bucket.size < options_.least_batches * bucket.rows;
    if (small && !buckets_.empty()) {  // only the last one can be: the shortest records join those before them
      buckets_.back().first = 0;
      buckets_.back().size += bucket.size;
    } else {
      buckets_.push_back(bucket);
    }
  }
  std::ranges::reverse(buckets_);
}

void BucketedBatches::number_batches() {
  for (auto& bucket : buckets_) {
    bucket.first_batch = batches_;
    batches_ += bucket.size / bucket.rows;
    if (options_.last != LastBatch::drop && bucket.size % bucket.rows != 0) ++batches_;
  }
  if (batches_ == 0)
    throw UserError(ExitCode::usage,
                    concat("loader.last_batch = \"drop\" leaves no batch: the data set has ", sorted_.size(),
                           " samples, a batch of loader.budget = ", options_.budget, " has ", buckets_[0].rows),
                    "set a smaller loader.budget, or loader.last_batch = \"wrap\"");
}

std::uint64_t BucketedBatches::most_rows() const {
  std::uint64_t most = 0;
  for (const auto& bucket : buckets_)
    most = std::max(most, options_.last == LastBatch::pad ? std::min(bucket.rows, bucket.size) : bucket.rows);
  return most;
}

std::uint32_t BucketedBatches::most_length() const { return length(sorted_.size() - 1); }

std::uint64_t BucketedBatches::bytes() const {
  return sizeof(*this) + sorted_.capacity() * sizeof(sorted_[0]) + buckets_.capacity() * sizeof(Bucket);
}

BucketedBatches::Place BucketedBatches::place(std::uint64_t epoch, std::uint64_t number) const {
  if (options_.shuffled) number = Permutation(batches_, permutation_key(options_.seed, epoch, 0))(number);
  const auto which = std::ranges::upper_bound(buckets_, number, {}, &Bucket::first_batch) - buckets_.begin() - 1;
  const auto& bucket = buckets_[static_cast<std::size_t>(which)];
  const auto begin = (number - bucket.first_batch) * bucket.rows;
  return {static_cast<std::uint64_t>(which), begin,
          options_.last == LastBatch::pad ? std::min(bucket.rows, bucket.size - begin) : bucket.rows};
}

std::uint32_t BucketedBatches::batch(std::uint64_t epoch, std::uint64_t number, std::vector<std::uint64_t>& ids) const {
  const auto [which, begin, rows] = place(epoch, number);
  const auto& bucket = buckets_[which];
  ids.resize(rows);
  const Permutation order(bucket.size, permutation_key(options_.seed, epoch, 1, which));
  for (std::uint64_t row = 0; row < ids.size(); ++row) {
    const auto index = (begin + row) % bucket.size;  // a wrapped batch goes on at its bucket's start
    ids[row] = sorted_[bucket.first + (options_.shuffled ? order(index) : index)];
  }
  std::uint32_t longest = 1;
  for (const auto id : ids) longest = std::max(longest, lengths_[id]);
  return longest;
}

}  // namespace flowtrain
