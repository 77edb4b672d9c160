// Exact resume of the data line: wherever it stops, a line that starts there delivers what an uninterrupted
// one would have, byte for byte, whatever workers and prefetch are.

#include <doctest/doctest.h>

#include "pipeline/base/snapshot/hash.h"
#include "sampling/core/error.h"
#include "tests/pipeline/engine/leak_check.h"
#include "tests/support/fakes.h"
#include "tests/support/fault_points.h"

namespace flowtrain::resume_test {

using namespace flowtrain::testing;

namespace {

constexpr std::uint64_t steps = 200, samples = 450;
constexpr std::uint32_t batch = 16;  // several epochs, whose last batches are wrapped; fields without gaps

struct Shape {
  unsigned workers;
  std::uint32_t prefetch;
};

// Hashes of the batches from iteration `first` to `last`, of all that compute could see: ids, positions and bytes. The
// line goes on to steps by itself and is stopped with batches under way.
std::vector<std::string> batches(const Shape& shape, std::uint64_t first, std::uint64_t last, bool resident) {
  FakeDataset dataset(samples, 24, resident);
  dataset.before_read = [](std::uint64_t id) {
    if (id % 90 == 7) throw SampleError("damaged");
  };
  const FakeSampler sampler(24);
  const FakeOrder order(samples, 5);
  const auto device = make_cpu_device();
  Loader line({"resume", dataset, order, sampler, *device, Batches(samples, batch, LastBatch::wrap), 11, batch, 1,
               shape.workers, 2, shape.prefetch, first, steps});
  line.start();
  std::vector<std::string> hashes;
  for (Ticket ticket; first + hashes.size() <= last && line.next(ticket); line.release(ticket)) {
    REQUIRE(ticket.kind == TicketKind::batch);
    Slab& slab = line.slab(ticket);
    Xxh64 hash;
    for (auto& row : slab.rows()) {
      hash.update(std::as_bytes(std::span(&row.id, 1)));
      hash.update(std::as_bytes(std::span(&row.position, 1)));
    }
    hash.update({slab.host(), slab.layout().bytes()});
    hashes.push_back(hash.hex());
  }
  return hashes;
}

}  // namespace

TEST_CASE("a data line resumes exactly at each of 200 steps" * points_sampled) {
  const Scheduler scheduler(4);
  const std::vector<std::string> expected = batches({1, 1}, 1, steps, true);
  REQUIRE(expected.size() == steps);
  const std::vector<Shape> shapes{{1, 1}, {2, 8}, {4, 1}, {1, 8}, {2, 1}, {4, 8}};
  FaultPoints points("line: stops and starts");
  std::uint64_t point = 0;
  for (std::uint64_t stop = 1; stop <= steps; ++stop) {
    for (const Shape& before : shapes) {
      for (const Shape& after : shapes) {
        if (!points.includes(++point)) continue;
        INFO(points.repeat(point));
        points.count();
        const Watchdog watchdog(600);
        const bool resident = (stop + point) % 3 == 0;
        // The part before the stop is checked near the stop only: it is the same code as the part behind it.
        const std::uint64_t from = stop > 5 ? stop - 5 : 1;
        auto seen = batches(before, from, stop, resident);
        const auto rest = batches(after, stop + 1, steps, !resident);
        seen.insert(seen.end(), rest.begin(), rest.end());
        const auto first = expected.begin() + static_cast<std::ptrdiff_t>(from - 1);
        CHECK(std::equal(seen.begin(), seen.end(), first, expected.end()));
      }
    }
  }
  points.finish();
}

}  // namespace flowtrain::resume_test
