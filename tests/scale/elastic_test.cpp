// Runs that go on with another number of ranks, again and again, at one global batch.

#include <doctest/doctest.h>

#include <cmath>

#include "sampling/core/random.h"
#include "tests/scale/ranks.h"
#include "tests/support/fakes.h"
#include "tests/support/fault_points.h"

namespace flowtrain::elastic_test {

using namespace flowtrain::testing;

namespace {

// From 1 to 4,096, small ones as often as large ones.
std::uint64_t random_world(Stream& random) {
  return std::min<std::uint64_t>(4096, static_cast<std::uint64_t>(std::exp2(random.uniform() * 12.001)));
}

// A run whose world changes again and again; false at the first step that differs from that of one process.
bool same_as_alone(Stream& random, std::uint64_t& steps) {
  const std::uint64_t samples = 100 + random.below(20'000);
  const std::uint64_t batch = 1 + random.below(std::min<std::uint64_t>(samples, 6'000));
  const auto last = static_cast<LastBatch>(random.below(3));
  const auto accum = static_cast<std::uint32_t>(1 + random.below(3));
  const FakeOrder order(samples, random.next());
  const Batches batches(samples, batch, last);
  const BatchPlanner alone(order, batches, {}, accum, 4);
  for (std::uint64_t iteration = 1; iteration <= 10;) {
    const std::uint64_t world = random_world(random), until = iteration + 1 + random.below(4);
    RowSlab slab(Slice{0, world}.most(batch));
    for (; iteration < until; ++iteration)
      for (std::uint16_t micro = 0; micro < accum; ++micro, ++steps) {
        const Ticket ticket = ticket_of(iteration, micro);
        if (!is_whole(take(order, batches, world, ticket, slab, accum), alone.rows(ticket))) return false;
      }
  }
  return true;
}

}  // namespace

TEST_CASE("runs whose number of ranks changes at random take, step by step, what one process takes") {
  std::uint64_t steps = 0;
  for (std::uint64_t run = 0; run < 50 * times(); ++run) {
    CAPTURE(run);
    Stream random(run, Purpose::init, 0);
    CHECK(same_as_alone(random, steps));
  }
  FaultPoints points("scale steps of runs with a changing world");
  points.count(steps);
  points.finish();
}

}  // namespace flowtrain::elastic_test
