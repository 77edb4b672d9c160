// Many tiny batches, and many lines: memory, threads and open files stay as they are, and every slab comes
// home.

#include <doctest/doctest.h>
#include <malloc.h>

#include "tests/pipeline/engine/leak_check.h"
#include "tests/support/fakes.h"
#include "tests/support/fault_points.h"

namespace flowtrain::soak_test {

using namespace flowtrain::testing;

namespace {

struct Parts {
  explicit Parts(bool resident) : dataset(500, 16, resident) {}

  std::unique_ptr<Loader> line(std::uint64_t last) {
    const Batches batches(500, 2, LastBatch::wrap);
    return std::make_unique<Loader>(
        LoaderParts{"soak", dataset, order, sampler, *device, batches, 1, 2, 1, {2, 2, 4}, {1, last}});
  }

  FakeDataset dataset;
  FakeSampler sampler{16};
  FakeOrder order{500, 3};
  std::unique_ptr<Device> device = make_cpu_device();
};

// In use, of all threads' arenas; how many pages those keep is up to malloc, and differs with every new thread.
std::size_t heap_bytes() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

}  // namespace

TEST_CASE("over 100,000 tiny batches that are read from files nothing grows" * points_sampled) {
  FaultPoints points("batches");
  const std::uint64_t batches = points.least() * times();  // FLOWTRAIN_TIMES=10 by hand: a million
  const Watchdog watchdog(0);
  const auto most = most_threads(2);
  const Scheduler scheduler(2);
  Parts parts(false);
  const auto line = parts.line(batches);
  line->start();
  std::uint64_t count = 0;
  std::size_t early_kb = 0;
  std::ptrdiff_t early_own = 0, early_files = 0;
  for (Ticket ticket; line->next(ticket) && ticket.kind == TicketKind::batch; line->release(ticket))
    if (++count == batches / 10) early_kb = resident_kb(), early_own = own_threads(), early_files = open_files();
  CHECK(count == batches);
  const std::size_t late_kb = resident_kb();
  MESSAGE("resident memory: " << early_kb << " kB after a tenth, " << late_kb << " kB at the end");
  if (!sanitized) CHECK(late_kb <= early_kb + 1024 * std::max<std::uint64_t>(1, batches / 100'000));
  CHECK(settled(threads, most + early_own) <= most + early_own);
  CHECK(open_files() == early_files);
  line->check_finished();
  points.count(count);
  points.finish();
}

TEST_CASE("500 lines start and stop, at their end or anywhere, and leave nothing behind" * points_sampled) {
  FaultPoints points("lines started and stopped");
  const Watchdog watchdog(600);
  const auto most = most_threads(2, 2);  // one may still rest as the next one starts
  const Scheduler scheduler(2);
  const std::uint64_t cycles = points.least();
  Stream random(1, Purpose::init, 0);
  std::size_t early_bytes = 0;
  std::ptrdiff_t early_files = 0;
  for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
    Parts parts(random.below(2));
    const std::uint64_t batches = random.below(40);
    const bool to_the_end = cycle % 2;
    const auto line = parts.line(to_the_end ? batches : 1'000'000);
    line->start();
    Ticket ticket;
    for (std::uint64_t i = 0; i < batches && line->next(ticket); ++i) line->release(ticket);
    if (to_the_end) {
      CHECK_FALSE(line->next(ticket));
      CHECK_NOTHROW(line->check_finished());  // all slabs are free, all queues empty
    }
    line->stop();
    CHECK(settled(own_threads, 0) == 0);
    if (cycle == cycles / 5) early_bytes = heap_bytes(), early_files = open_files();
  }
  if (!sanitized) CHECK(heap_bytes() <= early_bytes + 65536);
  CHECK(settled(threads, most) <= most);
  CHECK(open_files() == early_files);
  points.count(cycles);
  points.finish();
}

}  // namespace flowtrain::soak_test
