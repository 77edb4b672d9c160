// Orders and slices at up to 4,096 ranks, all of them in this process.

#include <doctest/doctest.h>

#include <chrono>
#include <map>

#include "tests/scale/ranks.h"
#include "tests/support/fakes.h"
#include "tests/support/fault_points.h"

namespace flowtrain::sequence_test {

using namespace flowtrain::testing;

namespace {

constexpr std::uint64_t worlds[] = {1, 2, 64, 4096};

struct Case {
  std::uint64_t samples, batch;
  LastBatch last;
};
// Rows that divide among the ranks, that do not, and fewer rows than ranks.
constexpr Case cases[] = {{50'003, 10'000, LastBatch::pad},
                          {50'003, 8192, LastBatch::wrap},
                          {50'003, 4095, LastBatch::drop},
                          {5'003, 100, LastBatch::pad}};

}  // namespace

TEST_CASE("what all ranks take together is what one process takes: every record once an epoch, at any world") {
  std::uint64_t taken_rows = 0;
  for (const std::string name : {"sequential", "shuffle", "block_shuffle", "weighted", "class_balanced"})
    for (const Case& each : cases) {
      const FakeDataset dataset(each.samples, 1, true);
      std::vector<std::pair<std::string, Value>> values;
      if (name == "weighted") values.emplace_back("weights", std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
      const auto order = make_order(name, dataset, 7, values);
      const Batches batches(each.samples, each.batch, each.last);
      const BatchPlanner alone(*order, batches, {}, 1, 4);
      for (const std::uint64_t world : worlds) {
        CAPTURE(name);
        CAPTURE(each.batch);
        CAPTURE(world);
        RowSlab slab(Slice{0, world}.most(each.batch));
        std::vector<std::uint32_t> seen(each.samples);
        bool whole = true, even = true, filled = true;
        for (std::uint64_t iteration = 1; iteration <= batches.per_epoch(); ++iteration) {
          const Taken taken = take(*order, batches, world, ticket_of(iteration), slab);
          whole = whole && is_whole(taken, alone.rows(ticket_of(iteration)));
          even = even && taken.most - taken.least <= 1;
          filled = filled && taken.empty == 0;
          for (auto& row : taken.rows) ++seen[row.id];
          taken_rows += taken.rows.size();
        }
        CHECK(whole);
        CHECK(even);
        CHECK(filled);  // each rank has as many batches as any other, and something in each
        const bool once = name != "weighted" && name != "class_balanced" && each.last == LastBatch::pad;
        if (once) CHECK(std::ranges::count(seen, 1u) == static_cast<std::ptrdiff_t>(each.samples));
      }
    }
  FaultPoints points("scale rows taken by the ranks of an epoch");
  points.count(taken_rows);
  points.finish();
}

TEST_CASE("a rank asks for its own rows alone, at 4,096 ranks, too") {
  constexpr std::uint64_t own_rows = 64, iterations = 100, samples = 1'281'167;
  const FakeDataset dataset(samples, 1, true);
  for (const std::string name : {"sequential", "shuffle", "block_shuffle"}) {
    const auto order = make_order(name, dataset, 3);
    for (const std::uint64_t world : worlds) {
      const CountingOrder counted(*order);
      const Batches batches(samples, own_rows * world, LastBatch::wrap);
      RowSlab slab(Slice{0, world}.most(own_rows * world));
      const auto rank = world / 2;
      const BatchPlanner planner(counted, batches, {rank, world}, 1, 4);
      for (std::uint64_t iteration = 1; iteration <= iterations; ++iteration) planner(ticket_of(iteration), *slab);
      CHECK(counted.asked() == iterations * own_rows);
      CHECK((*slab).rows().size() == own_rows);
    }
  }
  RowSlab slab(own_rows);
  MESSAGE("a rank's slab of " << own_rows << " rows beside the pictures: "
                              << own_rows * sizeof(RowWork) + (*slab).layout().bytes() << " bytes, at any world");
}

}  // namespace flowtrain::sequence_test
