// A batch is divided among processes.

#include "stages/loader/batch_planner.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "sampling/sources/mixed_order.h"
#include "tests/scale/ranks.h"
#include "tests/support/fakes.h"

namespace flowtrain::batch_planner_test {

TEST_CASE("slices are in order, hold every row once, and differ by at most one row") {
  for (std::uint64_t world : {1, 2, 3, 7, 4096})
    for (std::uint64_t rows : {0, 1, 2, 5, 64, 4095, 4096, 10'000}) {
      std::uint64_t next = 0, least = rows, most = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const Slice slice{rank, world};
        CHECK(slice.begin(rows) == next);
        next += slice.rows(rows);
        least = std::min(least, slice.rows(rows));
        most = std::max(most, slice.rows(rows));
      }
      CHECK(next == rows);
      CHECK(most - least <= 1);
      CHECK(most == Slice{0, world}.most(rows));
    }
}

TEST_CASE("the slabs of all processes make up the batch of one, whatever the world") {
  using flowtrain::testing::FakeOrder;
  const FakeOrder order(50, 3);
  const auto device = make_cpu_device();
  const Batches batches(50, 8, LastBatch::pad);  // the last batch of an epoch has two rows
  for (std::uint64_t world : {1, 3, 5, 16}) {
    std::vector<std::uint64_t> iterations{1, 7, 8, 14};  // 7 and 14 end an epoch
    for (std::uint64_t iteration : iterations) {
      Ticket ticket;
      ticket.iteration = iteration;
      std::vector<std::pair<std::uint64_t, std::uint64_t>> together, whole;
      double shares = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const BatchPlanner planner(order, batches, {rank, world}, 1, 4);
        const SlabLayout layout({{"image", DType::u8, {4}}}, 8);
        Slab slab(layout, *device);
        CHECK(planner(ticket, slab) > 0);
        CHECK(slab.rows().size() >= 1);
        shares += slab.share();
        if (slab.share() > 0)
          for (auto& row : slab.rows()) together.emplace_back(row.position, row.id);
        if (rank == 0)
          for (auto& row : planner.rows(ticket)) whole.emplace_back(row.position, row.id);
      }
      CHECK(together == whole);
      CHECK(shares == doctest::Approx(static_cast<double>(world)));
    }
  }
}

TEST_CASE("each row of an iteration weighs the same, whatever its micro-batch and its process") {
  using flowtrain::testing::FakeOrder;
  const FakeOrder order(50, 3);
  const auto device = make_cpu_device();
  const Batches batches(50, 8, LastBatch::pad);  // the last of an epoch's seven batches has two rows
  const SlabLayout layout({{"image", DType::u8, {4}}}, 8);
  Slab slab(layout, *device);
  for (const std::uint32_t accum : {1, 2, 3})
    for (const std::uint64_t world : {1, 3})
      for (std::uint64_t iteration = 1; iteration <= 14; ++iteration) {
        std::uint64_t rows = 0;
        for (std::uint64_t i = 0; i < accum; ++i) rows += batches.rows((iteration - 1) * accum + i);
        for (std::uint64_t rank = 0; rank < world; ++rank)
          for (std::uint16_t micro = 0; micro < accum; ++micro) {
            Ticket ticket;
            ticket.iteration = iteration;
            ticket.micro = micro;
            BatchPlanner(order, batches, {rank, world}, accum, 4)(ticket, slab);
            if (slab.share() == 0) continue;  // it has no row of this batch
            const double of_a_row = slab.share() / static_cast<double>(slab.rows().size());
            CHECK(of_a_row == doctest::Approx(static_cast<double>(world * accum) / static_cast<double>(rows)));
            if (rows == 8 * accum && world == 1) CHECK(slab.share() == 1);  // to the last bit
          }
      }
}

TEST_CASE("a batch that is longer than an epoch, or than what is drawn at once, holds the rows of its positions") {
  using flowtrain::testing::FakeOrder;
  const FakeOrder order(150, 3);
  const auto device = make_cpu_device();
  const Batches batches(150, 400, LastBatch::wrap);
  const BatchPlanner planner(order, batches, {}, 1, 4);
  const SlabLayout layout({{"image", DType::u8, {4}}}, 400);
  Slab slab(layout, *device);
  for (std::uint64_t iteration : {1, 2}) {
    Ticket ticket;
    ticket.iteration = iteration;
    planner(ticket, slab);
    const auto rows = planner.rows(ticket);
    REQUIRE(slab.rows().size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(slab.rows()[i].position == rows[i].position);
      CHECK(slab.rows()[i].id == rows[i].id);
    }
  }
}

TEST_CASE("several sources are shared out as one is") {
  for (const std::uint64_t run : {1, 8}) {
    std::vector<OrderedSource> sources;
    sources.push_back({std::make_unique<flowtrain::testing::FakeOrder>(30, 3), 0, 21});
    sources.push_back({std::make_unique<flowtrain::testing::FakeOrder>(11, 5), 30, 9});
    const MixedOrder order(std::move(sources), run);
    const Batches batches(order.size(), 8, LastBatch::wrap);
    for (std::uint64_t number = 1; number <= 3 * batches.per_epoch(); ++number) {
      const auto ticket = flowtrain::testing::ticket_of(number);
      const auto whole = BatchPlanner(order, batches, {}, 1, 4).rows(ticket);
      for (std::uint64_t world : {1, 2, 3, 8}) {
        flowtrain::testing::RowSlab slab(Slice{0, world}.most(8));
        CHECK(flowtrain::testing::is_whole(flowtrain::testing::take(order, batches, world, ticket, slab), whole));
      }
    }
  }
}

TEST_CASE("groups of rows are dealt to processes evenly, each group and all together") {
  using flowtrain::testing::FakeOrder;
  const auto device = make_cpu_device();
  for (const std::vector<std::uint32_t>& groups :
       std::vector<std::vector<std::uint32_t>>{{4, 8, 2}, {1, 1, 1}, {7, 3}}) {
    ShapePlan plan{.lengths = Lengths(0, 0), .groups = groups};
    std::uint32_t all = 0;
    for (const auto rows : groups) all += rows;
    const FakeOrder order(all * 5, 3);
    const Batches batches(all * 5, all, LastBatch::wrap);
    std::vector<Field> fields;
    for (std::uint32_t group = 0; group < groups.size(); ++group)
      fields.push_back({.name = "field", .dtype = DType::u8, .shape = {4}, .group = group});
    for (std::uint64_t world = 1; world <= all; ++world) {
      CAPTURE(world);
      const auto ticket = flowtrain::testing::ticket_of(3);
      std::map<std::uint64_t, std::uint64_t> together, whole;  // the id of each position
      double shares = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const BatchPlanner planner(order, batches, {rank, world}, 1, 4, &plan);
        const SlabLayout layout = slab_layout(fields, static_cast<std::uint32_t>((all + world - 1) / world), &plan);
        Slab slab(layout, *device);
        planner(ticket, slab);
        CHECK(slab.row_count() >= all / world);
        CHECK(slab.row_count() <= (all + world - 1) / world);
        std::vector<std::uint64_t> own, hinted;
        PlanningMemory memory;
        for (std::size_t group = 0; group < groups.size(); ++group) {
          CHECK(slab.rows_of(group) >= groups[group] / world);
          CHECK(slab.rows_of(group) <= (groups[group] + world - 1) / world);
        }
        for (auto& row : slab.rows()) {
          CHECK(together.emplace(row.position, row.id).second);
          CHECK(row.place.row < slab.rows_of(row.place.group));
          own.push_back(row.id);
        }
        planner.each_own(ticket, memory, [&](std::uint64_t id) { hinted.push_back(id); });
        CHECK(hinted == own);
        shares += slab.share();
        for (auto& row : planner.rows(ticket)) whole.emplace(row.position, row.id);
      }
      CHECK(together == whole);
      CHECK(together.size() == all);
      CHECK(shares == doctest::Approx(static_cast<double>(world)));
    }
  }
}

}  // namespace flowtrain::batch_planner_test
