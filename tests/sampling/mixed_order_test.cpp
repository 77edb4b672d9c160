// The order of several sources: each keeps its own, over all epochs.

#include "sampling/sources/mixed_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "sampling/batches.h"
#include "sampling/core/registry.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::mixed_order_test {

namespace {

struct Wanted {
  std::uint64_t size, turns;
};

MemoryDataset records(std::uint64_t size) { return MemoryDataset(std::vector<MemoryDataset::Item>(size)); }

std::unique_ptr<Order> order_of(const std::string& name, std::uint64_t size, std::uint64_t seed) {
  const auto dataset = records(size);
  const auto& entry = orders().at(name);
  return entry.make(settings_for(entry.keys, {}, "order"), {dataset, seed});
}

/// Sources of these sizes, whose ids follow on one another; source i is shuffled by seed i.
std::unique_ptr<MixedOrder> mix(const std::vector<Wanted>& wanted, std::uint64_t run = 1,
                                const std::string& name = "shuffle") {
  std::vector<OrderedSource> sources;
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; auto& each : wanted) {
    sources.push_back({order_of(name, each.size, i++), first, each.turns});
    first += each.size;
  }
  return std::make_unique<MixedOrder>(std::move(sources), run);
}

/// What a source gives in some epochs, by its own ids.
std::vector<std::uint64_t> seen_of(const Order& order, std::uint64_t first_id, std::uint64_t size,
                                   std::uint64_t epochs) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (std::uint64_t index = 0; index < order.size(); ++index)
      if (const auto id = order.at(epoch, index); id >= first_id && id < first_id + size) ids.push_back(id - first_id);
  return ids;
}

/// The beginning of an order's endless sequence.
std::vector<std::uint64_t> endless(const Order& order, std::size_t count) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) ids.push_back(order.at(i / order.size(), i % order.size()));
  return ids;
}

}  // namespace

TEST_CASE("each source's own order goes on through all epochs, and begins anew when it is through") {
  const std::vector<Wanted> wanted{{100, 60}, {7, 20}, {33, 33}, {1, 2}};
  for (const std::uint64_t run : {1, 4})
    for (const std::string name : {"shuffle", "sequential", "block_shuffle"}) {
      const auto order = mix(wanted, run, name);
      CHECK(order->size() == 115 * run);
      std::uint64_t first = 0;
      for (std::uint64_t i = 0; auto& each : wanted) {
        const auto seen = seen_of(*order, first, each.size, 5);
        CHECK(seen.size() == 5 * each.turns * run);
        CHECK(seen == endless(*order_of(name, each.size, i++), seen.size()));
        first += each.size;
      }
    }
}

TEST_CASE("a batch's records at once are those one by one, wherever it begins") {
  for (const std::uint64_t run : {1, 16}) {
    const auto order = mix({{100, 60}, {7, 20}, {2, 5}}, run);
    for (const std::uint64_t epoch : {0, 1, 9})
      for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{3}, order->size() / 2}) {
        std::vector<std::uint64_t> ids(order->size() - first), expected;
        order->fill(epoch, first, ids);
        for (std::uint64_t index = first; index < order->size(); ++index) expected.push_back(order->at(epoch, index));
        CHECK(ids == expected);
      }
  }
}

TEST_CASE("runs of one source fill whole batches, in turn") {
  const auto order = mix({{100, 6}, {40, 2}}, 16);
  const Batches batches(order->size(), 16, LastBatch::wrap);
  REQUIRE(batches.per_epoch() == 8);
  int second = 0;
  for (std::uint64_t batch = 0; batch < 16; ++batch) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t row = 0; row < 16; ++row)
      ids.push_back(order->at(batches.epoch(batch), batches.index(batch, row)));
    const bool is_second = ids.front() >= 100;
    for (const auto id : ids) CHECK((id >= 100) == is_second);
    second += is_second;
    if (batch % 4 == 3) CHECK(second == static_cast<int>(batch + 1) / 4);
  }
}

TEST_CASE("how long an epoch is") {
  using Sizes = std::vector<std::uint64_t>;
  using Weights = std::vector<double>;
  const auto longest = [](const Sizes& sizes, const Weights& weights, std::uint64_t run = 1) {
    return turns_of_epoch(EpochEnd::longest, sizes, weights, run);
  };
  const auto shortest = [](const Sizes& sizes, const Weights& weights) {
    return turns_of_epoch(EpochEnd::shortest, sizes, weights, 1);
  };
  // By size: one after the other.
  CHECK(longest({60'000, 50'000}, {60'000, 50'000}) == 110'000);
  CHECK(shortest({60'000, 50'000}, {60'000, 50'000}) == 110'000);
  CHECK(longest({1'281'167, 123'457, 3}, {1'281'167, 123'457, 3}) == 1'404'627);
  // Half and half.
  CHECK(longest({1000, 100}, {1, 1}) == 2000);
  CHECK(shortest({1000, 100}, {1, 1}) == 200);
  CHECK(longest({900, 1}, {0.9, 0.1}) == 1000);
  CHECK(longest({900, 1}, {0.3, 0.6}) == 2700);
  CHECK(longest({1000, 100}, {1, 1}, 16) == 125);
  CHECK(shortest({1, 1000}, {1000, 1}) == 2);  // 1.001 turns
  for (const Weights& weights : {Weights{0.7, 0.2, 0.1}, Weights{1, 3, 5}, Weights{1. / 3, 1. / 7, 2}}) {
    const Sizes sizes{977, 312, 51};
    const auto longer = shared_out(longest(sizes, weights), weights),
               shorter = shared_out(shortest(sizes, weights), weights);
    int through = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      CHECK(longer[i] + 1 > sizes[i]);  // all are through
      through += shorter[i] >= sizes[i];
    }
    CHECK(through >= 1);
  }
}

}  // namespace flowtrain::mixed_order_test
