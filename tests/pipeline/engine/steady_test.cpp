// Heap allocations per sample and memory over many batches must not grow.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/pipeline/engine/leak_check.h"
#include "tests/pipeline/engine/plans/shaped_line.h"
#include "tests/support/fakes.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Counts every operator new of this program, whatever thread it is on.
void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort uses this one; under a sanitizer it would otherwise not come from malloc.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes);
}
// If these were inlined, GCC 12 would warn of pointers from new that are given to free().
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace flowtrain::steady_test {

using namespace flowtrain::testing;

namespace {

// Consumes a line of 28 × 28 pictures; calls `at(batch)` after each batch.
[[maybe_unused]] void consume(bool resident, std::uint32_t batch, std::uint64_t batches,
                              const std::function<void(std::uint64_t)>& at) {
  const Scheduler scheduler(2);
  const FakeDataset dataset(5000, 784, resident);
  const FakeSampler sampler(784);
  const FakeOrder order(5000, 3);
  const auto device = make_cpu_device();
  Loader line({"steady", dataset, order, sampler, *device, Batches(5000, batch, LastBatch::wrap), 1, batch, 1, 2, 2, 4,
               1, batches});
  line.start();
  std::uint64_t count = 0;
  for (Ticket ticket; line.next(ticket) && ticket.kind == TicketKind::batch; line.release(ticket)) at(++count);
  line.check_finished();
}

// Consumes a line of texts that differ in length; calls `at(batch)` after each batch.
[[maybe_unused]] void consume(const LineOptions& options, std::uint64_t batches,
                              const std::function<void(std::uint64_t)>& at) {
  const Scheduler scheduler(2);
  const Line texts(options);
  Loader line(texts.parts(1, batches));
  line.start();
  std::uint64_t count = 0;
  for (Ticket ticket; line.next(ticket) && ticket.kind == TicketKind::batch; line.release(ticket)) at(++count);
  line.check_finished();
}

// Returns lines of tiny rows of each form.
[[maybe_unused]] std::vector<LineOptions> tiny_lines() {
  std::vector<LineOptions> all;
  for (const Form form : {Form::padded, Form::bucketed, Form::packed})
    all.push_back({.form = form, .batch = 2, .longest = 16, .budget = 32});
  return all;
}

}  // namespace

#ifndef FLOWTRAIN_LOCKED_QUEUE  // the mutex twin is a deque, which allocates
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

TEST_CASE("a warm line of rows that differ in length allocates nothing per sample") {
  for (const auto& options : tiny_lines()) {
    CAPTURE(static_cast<int>(options.form));
    std::uint64_t warm = 0, end = 0;
    consume(options, 6000, [&](std::uint64_t batch) {
      if (batch == 3000) warm = allocations;
      if (batch == 6000) end = allocations;
    });
    CHECK(end - warm == 0);
  }
}
#endif

#ifndef __SANITIZE_THREAD__  // which keeps a history of each thread's accesses in memory
TEST_CASE("memory is flat over a million batches") {
  const std::uint64_t batches = sanitized ? 20'000 : 1'000'000;
  std::size_t early_kb = 0, late_kb = 0;
  consume(true, 2, batches, [&](std::uint64_t batch) {
    if (batch == batches / 10) early_kb = resident_kb();
    if (batch == batches) late_kb = resident_kb();
  });
  MESSAGE("resident memory: " << early_kb << " kB after a tenth, " << late_kb << " kB at the end");
  CHECK(late_kb <= early_kb + 1024);
}

TEST_CASE("memory is flat over a million batches of rows that differ in length" * doctest::test_suite("nightly")) {
  const std::uint64_t batches = sanitized ? 20'000 : 1'000'000;
  for (const auto& options : tiny_lines()) {
    std::size_t half_kb = 0, late_kb = 0;
    consume(options, batches, [&](std::uint64_t batch) {
      if (batch == batches / 2) half_kb = resident_kb();
      if (batch == batches) late_kb = resident_kb();
    });
    MESSAGE("resident memory: " << half_kb << " kB after half, " << late_kb << " kB at the end");
    CHECK(late_kb <= half_kb + 1024);
  }
}
#endif

}  // namespace flowtrain::steady_test
