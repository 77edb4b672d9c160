#include "sampling/plans/bucketed_batches.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/support/drawn_lengths.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::bucketed_batches_test {
namespace {

struct Batch {
  std::vector<std::uint64_t> ids;
  std::uint32_t longest = 0;

  bool operator==(const Batch&) const = default;
};

Batch batch_of(const BucketedBatches& plan, std::uint64_t epoch, std::uint64_t number) {
  Batch batch;
  batch.longest = plan.batch(epoch, number, batch.ids);
  return batch;
}

std::vector<Batch> epoch_of(const BucketedBatches& plan, std::uint64_t epoch) {
  std::vector<Batch> batches;
  for (std::uint64_t number = 0; number < plan.batches(); ++number) batches.push_back(batch_of(plan, epoch, number));
  return batches;
}

/// How often each record is in an epoch.
std::vector<int> counts_of(const std::vector<Batch>& batches, std::uint64_t records) {
  std::vector<int> counts(records);
  for (const auto& batch : batches)
    for (const auto id : batch.ids) ++counts.at(id);
  return counts;
}

double padding_of(const std::vector<Batch>& batches, const std::vector<std::uint32_t>& lengths) {
  double filled = 0, positions = 0;
  for (const auto& [ids, longest] : batches) {
    positions += static_cast<double>(longest) * static_cast<double>(ids.size());
    for (const auto id : ids) filled += lengths[id];
  }
  return 1 - filled / positions;
}

TEST_CASE("bucketed batches: an epoch has each record once, within the bounds") {
  std::uint64_t plans = 0;
  for (const auto size : set_sizes)
    for (const auto& lengths : sets_of_lengths(size))
      for (const std::uint64_t budget : {1, 64, 1000})
        for (const std::uint64_t most_rows : {0, 5})
          for (const bool shuffled : {true, false}) {
            const BucketedBatches plan(lengths, {budget, most_rows, LastBatch::pad, 3, shuffled});
            const auto batches = epoch_of(plan, ++plans % 3);
            REQUIRE(counts_of(batches, size) == std::vector<int>(size, 1));
            std::uint64_t rows = 0;
            std::uint32_t longest_of_all = 0;
            for (const auto& [ids, longest] : batches) {
              REQUIRE(!ids.empty());
              std::uint32_t expected = 1;
              for (const auto id : ids) expected = std::max(expected, lengths[id]);
              REQUIRE(longest == expected);
              REQUIRE((ids.size() == 1 || ids.size() * longest <= budget));
              REQUIRE((most_rows == 0 || ids.size() <= most_rows));
              rows = std::max(rows, ids.size());
              longest_of_all = std::max(longest_of_all, longest);
            }
            REQUIRE(rows == plan.most_rows());
            REQUIRE(longest_of_all == plan.most_length());
          }
}

TEST_CASE("bucketed batches: the last batch of a bucket is wrapped, dropped or padded") {
  const std::vector<std::uint32_t> lengths(10, 5);
  const auto plan_of = [&](LastBatch last) { return BucketedBatches(lengths, {.budget = 22, .last = last}); };
  const auto sizes_of = [](const std::vector<Batch>& batches) {
    std::vector<std::size_t> sizes;
    for (const auto& batch : batches) sizes.push_back(batch.ids.size());
    std::ranges::sort(sizes);
    return sizes;
  };
  for (const std::uint64_t epoch : {0, 1, 2}) {
    const auto padded = epoch_of(plan_of(LastBatch::pad), epoch), dropped = epoch_of(plan_of(LastBatch::drop), epoch);
    const auto wrapped = epoch_of(plan_of(LastBatch::wrap), epoch);
    CHECK(sizes_of(padded) == std::vector<std::size_t>{2, 4, 4});
    CHECK(sizes_of(dropped) == std::vector<std::size_t>{4, 4});
    CHECK(sizes_of(wrapped) == std::vector<std::size_t>{4, 4, 4});
    CHECK(std::ranges::count(counts_of(padded, 10), 1) == 10);
    CHECK(std::ranges::count(counts_of(dropped, 10), 1) == 8);
    CHECK(std::ranges::count(counts_of(wrapped, 10), 1) == 8);
    CHECK(std::ranges::count(counts_of(wrapped, 10), 2) == 2);
  }
}

TEST_CASE("bucketed batches: wrapping and dropping touch less than a batch of each bucket") {
  const auto lengths = lognormal_lengths(20'000);
  for (const auto last : {LastBatch::wrap, LastBatch::drop}) {
    const BucketedBatches plan(lengths, {.budget = 4000, .last = last});
    REQUIRE(plan.buckets() > 10);
    const auto batches = epoch_of(plan, 1);
    std::map<std::uint64_t, int> by_count;
    for (const auto count : counts_of(batches, lengths.size())) ++by_count[static_cast<std::uint64_t>(count)];
    CHECK(by_count[1] > 19'000);
    CHECK(by_count[last == LastBatch::wrap ? 0 : 2] == 0);
    CHECK(by_count[last == LastBatch::wrap ? 2 : 0] > 0);
    CHECK(by_count[1] + by_count[0] + by_count[2] == 20'000);
  }
}

TEST_CASE("bucketed batches: dropping what is all there is ends with the way out") {
  const std::vector<std::uint32_t> lengths(3, 5);
  const auto failure = failure_of([&] { BucketedBatches(lengths, {.budget = 22, .last = LastBatch::drop}); });
  check_failure(failure, ExitCode::usage, "the data set has 3 samples, a batch of loader.budget = 22 has 4");
  CHECK(epoch_of(BucketedBatches(lengths, {.budget = 22, .last = LastBatch::wrap}), 0)[0].ids.size() == 4);
}

TEST_CASE("bucketed batches: a batch depends on the seed, the epoch and the number alone") {
  const auto lengths = lognormal_lengths(3000);
  const BucketedOptions options{.budget = 2000, .seed = 9};
  const BucketedBatches plan(lengths, options), again(lengths, options);
  const auto first = epoch_of(plan, 5);
  for (std::uint64_t number = plan.batches(); number-- > 0;) {
    batch_of(again, number, number);
    REQUIRE(batch_of(again, 5, number) == first[number]);
  }
  const auto other_epoch = epoch_of(plan, 6);
  const BucketedBatches other_seed(lengths, {.budget = 2000, .seed = 10});
  std::uint64_t as_before = 0, as_with_seed = 0;
  for (std::uint64_t number = 0; number < first.size(); ++number) {
    as_before += other_epoch[number] == first[number];
    as_with_seed += batch_of(other_seed, 5, number) == first[number];
  }
  CHECK(as_before <= first.size() / 20);
  CHECK(as_with_seed <= first.size() / 20);
}

TEST_CASE("bucketed batches: without a shuffle, batches and rows are sorted by length in each epoch") {
  const auto lengths = lognormal_lengths(3000);
  const BucketedBatches plan(lengths, {.budget = 2000, .shuffled = false});
  const auto batches = epoch_of(plan, 0);
  CHECK(batches == epoch_of(plan, 1));
  std::vector<std::uint64_t> ids;
  for (const auto& batch : batches) ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
  CHECK(std::ranges::is_sorted(ids, {}, [&](auto id) { return std::pair(lengths[id], id); }));
  CHECK(padding_of(batches, lengths) < 0.02);
}

TEST_CASE("bucketed batches: little of a long-tailed set is padding") {
  const auto lengths = lognormal_lengths(100'000);
  const BucketedBatches plan(lengths, {.budget = 16'384});
  CHECK(padding_of(epoch_of(plan, 3), lengths) <= 0.08);
  CHECK(plan.batches() >= 8 * plan.buckets());
  CHECK(plan.bytes() < 4 * lengths.size() + 16'384);
  const BucketedBatches narrow(lengths, {.budget = 16'384, .padding = 0.01});
  CHECK(narrow.buckets() > plan.buckets());
  CHECK(padding_of(epoch_of(narrow, 3), lengths) < padding_of(epoch_of(plan, 3), lengths));
}

TEST_CASE("bucketed batches: a few giants do not make small batches of all others") {
  std::vector<std::uint32_t> lengths(100'000, 10);
  lengths[7] = lengths[70] = 10'000;
  const BucketedBatches plan(lengths, {.budget = 10'000});
  CHECK(plan.buckets() == 2);
  CHECK(plan.batches() == 6 + (100'000 - 6 + 999) / 1000);  // a sixteenth of 102 are in the giants' bucket
}

TEST_CASE("bucketed batches: all records of a bucket meet each other") {
  const std::vector<std::uint32_t> lengths(64, 10);
  const BucketedBatches plan(lengths, {.budget = 80, .seed = 2});
  constexpr int epochs = 1800;
  std::vector<double> met(64);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (const auto& batch : epoch_of(plan, epoch))
      if (std::ranges::count(batch.ids, 0))
        for (const auto id : batch.ids) ++met[id];
  CHECK(met[0] == epochs);
  for (std::size_t id = 1; id < met.size(); ++id) {
    CHECK(met[id] > 200 - 60);  // 7 of 63 others, 1800 times: 200 with a deviation of 13
    CHECK(met[id] < 200 + 60);
  }
}

TEST_CASE("bucketed batches: an order stays as it is") {
  const auto lengths = uniform_lengths(40, 1, 9);
  const BucketedBatches plan(lengths, {.budget = 24, .seed = 42});
  CHECK(plan.batches() == 13);
  CHECK(batch_of(plan, 1, 0) == Batch{{37, 33, 3}, 7});
  CHECK(batch_of(plan, 1, 2) == Batch{{28, 30, 21}, 3});
}

}  // namespace
}  // namespace flowtrain::bucketed_batches_test
