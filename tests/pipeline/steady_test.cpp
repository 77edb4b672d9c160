// What must not grow: heap allocations per sample once warm, and memory over many batches.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>

#include "tests/pipeline/fakes.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Counts every operator new of this program, whatever thread it is on.
void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace flowtrain;
using namespace flowtrain::testing;

namespace {

std::size_t resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      std::size_t kb = 0;
      status >> kb;
      return kb;
    }
  return 0;
}

// Consumes a line of 28 × 28 pictures; calls `at(batch)` after each batch.
void consume(bool resident, std::uint32_t batch, std::uint64_t batches, const std::function<void(std::uint64_t)>& at) {
  const Scheduler scheduler(2);
  const FakeDataset dataset(5000, 784, resident);
  const FakeSampler sampler(784);
  const FakeOrder order(5000, 3);
  const auto device = make_cpu_device();
  Line line({"steady", dataset, order, sampler, *device, Batches(5000, batch, LastBatch::wrap), 1, batch, 1, 2, 2, 4,
             batches_until(batches)});
  line.start();
  std::uint64_t count = 0;
  for (Ticket ticket; line.next(ticket) && ticket.kind == TicketKind::batch; line.release(ticket)) at(++count);
  line.check_finished();
}

}  // namespace

TEST_CASE("a warm line allocates nothing per sample") {
  for (bool resident : {true, false}) {
    std::uint64_t warm = 0, end = 0;
    consume(resident, 64, 3000, [&](std::uint64_t batch) {
      if (batch == 1000) warm = allocations;
      if (batch == 3000) end = allocations;
    });
    CHECK(end - warm == 0);
  }
}

TEST_CASE("memory is flat over a million batches") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const std::uint64_t batches = 20'000;  // sanitizers keep freed memory, and are slow
#else
  const std::uint64_t batches = 1'000'000;
#endif
  std::size_t early_kb = 0, late_kb = 0;
  consume(true, 2, batches, [&](std::uint64_t batch) {
    if (batch == batches / 10) early_kb = resident_kb();
    if (batch == batches) late_kb = resident_kb();
  });
  MESSAGE("resident memory: " << early_kb << " kB after a tenth, " << late_kb << " kB at the end");
  CHECK(late_kb <= early_kb + 1024);
}
