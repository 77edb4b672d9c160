// A loader tells a remote data set which records it will read; reads end with it.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "pipeline/engine/graph/graph.h"
#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/reads_until.h"
#include "stages/loader/batch_planner.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fakes.h"

namespace flowtrain::look_ahead_test {

using namespace flowtrain::testing;

namespace {

/// Notes what it is told, and whether each read was hinted and prefetched before.
class FarDataset : public FakeDataset {
 public:
  using FakeDataset::FakeDataset;

  bool takes_hints() const override { return true; }
  void hint(std::uint64_t id) const override {
    const MutexLock lock(mutex_);
    ++told_[id].hinted;
    ahead_ = std::max(ahead_, ++under_way_);
  }
  void prefetch(std::uint64_t id) const override {
    const MutexLock lock(mutex_);
    ++told_[id].prefetched;
  }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    {
      const MutexLock lock(mutex_);
      auto& reported = told_[id];
      if (++reported.read > reported.prefetched || reported.prefetched > reported.hinted) ++surprises_;
      --under_way_;
    }
    while (away && !ReadsUntil::token().stop_requested()) std::this_thread::yield();
    if (away) throw SampleError("the server is away");
    return FakeDataset::read(id, buffer);
  }
  void forget(std::uint64_t id) const override {
    const MutexLock lock(mutex_);
    ++told_[id].forgotten;
    --under_way_;
  }

  std::uint64_t surprises() const {
    const MutexLock lock(mutex_);
    return surprises_;
  }
  /// Rows that were hinted and not yet read, at most.
  std::int64_t ahead() const {
    const MutexLock lock(mutex_);
    return ahead_;
  }
  bool all_read() const {
    const MutexLock lock(mutex_);
    return std::all_of(told_.begin(), told_.end(),
                       [](auto& each) { return each.second.read + each.second.forgotten == each.second.hinted; });
  }

  std::atomic<bool> away{false};

 private:
  struct Told {
    std::uint64_t hinted = 0, prefetched = 0, read = 0, forgotten = 0;
  };
  mutable Mutex mutex_;
  mutable std::map<std::uint64_t, Told> told_ FT_GUARDED_BY(mutex_);
  mutable std::uint64_t surprises_ FT_GUARDED_BY(mutex_) = 0;
  mutable std::int64_t under_way_ FT_GUARDED_BY(mutex_) = 0;
  mutable std::int64_t ahead_ FT_GUARDED_BY(mutex_) = 0;
};

struct Far {
  explicit Far(std::uint64_t read_ahead, std::uint64_t iterations = 50, Slice slice = {}) {
    LoaderParts parts{"far", dataset, order, sampler,   *device,        Batches(1000, 32, LastBatch::wrap),
                      42,    32,      1,     {2, 2, 4}, {1, iterations}};
    parts.slice = slice;
    parts.read_ahead = read_ahead;
    line.emplace(std::move(parts));
  }

  FarDataset dataset{1000, 16, false};
  FakeSampler sampler{16};
  FakeOrder order{1000, 7};
  std::unique_ptr<Device> device = make_cpu_device();
  std::optional<Loader> line;
};

std::vector<std::uint64_t> ids_of(Loader& line) {
  std::vector<std::uint64_t> ids;
  line.start();
  for (Ticket ticket; line.next(ticket) && ticket.kind == TicketKind::batch; line.release(ticket))
    for (auto& row : line.slab(ticket).rows()) ids.push_back(row.id);
  line.check_finished();
  return ids;
}

}  // namespace

TEST_CASE("a data set that is far away is told what will be read, and each record is read as often as it was told") {
  const Scheduler scheduler(2);
  std::vector<std::uint64_t> without;
  for (std::uint64_t rows : {0u, 1u, 200u, 5000u}) {
    CAPTURE(rows);
    Far far(rows);
    const auto ids = ids_of(*far.line);
    CHECK(ids.size() == 50 * 32);
    if (without.empty()) without = ids;
    CHECK(ids == without);
    CHECK(far.dataset.surprises() == 0);
    CHECK(far.dataset.all_read());
    CHECK(far.dataset.ahead() >= static_cast<std::int64_t>(std::min<std::uint64_t>(rows, 50 * 32)));
    CHECK(far.dataset.ahead() <= static_cast<std::int64_t>(rows + 7 * 32));  // the slabs' and a batch's
  }
}

TEST_CASE("it is told of this process's rows alone") {
  const Scheduler scheduler(2);
  for (std::uint64_t rank : {0u, 2u}) {
    Far far(100, 20, {rank, 3});
    ids_of(*far.line);
    CHECK(far.dataset.surprises() == 0);
    CHECK(far.dataset.all_read());
  }
}

TEST_CASE("a line in another shape forgets what it was to read, and hints it anew") {
  const Scheduler scheduler(4);
  Far far(200);
  far.line->start();
  std::vector<std::uint64_t> ids;
  std::uint64_t batches = 0;
  for (Ticket ticket; far.line->next(ticket);) {
    for (auto& row : far.line->slab(ticket).rows()) ids.push_back(row.id);
    far.line->release(ticket);
    if (++batches % 5 == 0) far.line->retune({static_cast<unsigned>(1 + batches % 3), 2, 3});
  }
  far.line->check_finished();
  CHECK(far.dataset.surprises() == 0);
  CHECK(far.dataset.all_read());
  Far straight(200);
  CHECK(ids == ids_of(*straight.line));
}

TEST_CASE("a line whose server is away is stopped at once, and another one reads the same data set afterwards") {
  const Scheduler scheduler(2);
  Far far(100);
  far.dataset.away = true;
  far.line->start();
  far.line->stop();
  CHECK(far.dataset.all_read());
  far.dataset.away = false;
  LoaderParts parts{"next", far.dataset, far.order, far.sampler, *far.device, Batches(1000, 32, LastBatch::wrap),
                    42,     32,          1,         {2, 2, 4},   {1, 5}};
  parts.read_ahead = 100;
  Loader next(std::move(parts));
  CHECK(ids_of(next).size() == 5 * 32);
  CHECK(far.dataset.all_read());
}

}  // namespace flowtrain::look_ahead_test
