#include "pipeline/engine/graph/graph.h"

#include <doctest/doctest.h>

#include <set>

#include "sampling/core/error.h"
#include "tests/pipeline/engine/leak_check.h"
#include "tests/support/fakes.h"

namespace flowtrain::graph_test {

using namespace flowtrain::testing;

namespace {

struct Setup {
  std::uint64_t samples = 1000;
  std::size_t bytes = 16;
  bool resident = true;
  unsigned workers = 2, readers = 2;
  std::uint32_t batch = 32, prefetch = 4;
  std::uint64_t iterations = 100;
  LastBatch last = LastBatch::wrap;
};

struct TrainerFixture {
  explicit TrainerFixture(const Setup& s)
      : setup(s),
        dataset(s.samples, s.bytes, s.resident),
        sampler(s.bytes),
        order(s.samples, 7),
        device(make_cpu_device()) {}
  LoaderParts parts() {
    return {"test",
            dataset,
            order,
            sampler,
            *device,
            Batches(setup.samples, setup.batch, setup.last),
            42,
            setup.batch,
            1,
            {setup.workers, setup.readers, setup.prefetch},
            {1, setup.iterations}};
  }
  Setup setup;
  FakeDataset dataset;
  FakeSampler sampler;
  FakeOrder order;
  std::unique_ptr<Device> device;
};

void append_batch(const Slab& slab, std::vector<std::byte>& seen) {
  if (slab.error()) std::rethrow_exception(slab.error());
  for (auto& row : slab.rows()) {
    auto* id = reinterpret_cast<const std::byte*>(&row.id);
    seen.insert(seen.end(), id, id + sizeof row.id);
  }
  seen.insert(seen.end(), slab.host(), slab.host() + slab.layout().bytes());
}

// Everything a run delivers: ids and all bytes of all rows, in order.
std::vector<std::byte> deliver(const Setup& setup, const std::function<void(TrainerFixture&)>& prepare = {}) {
  TrainerFixture fixture(setup);
  if (prepare) prepare(fixture);
  Loader line(fixture.parts());
  line.start();
  std::vector<std::byte> seen;
  for (Ticket ticket; line.next(ticket);) {
    append_batch(line.slab(ticket), seen);
    line.release(ticket);
  }
  line.check_finished();
  return seen;
}

}  // namespace

TEST_CASE("what a line delivers does not depend on workers, readers, prefetch or where the data is") {
  Scheduler scheduler(8);
  Setup setup;
  const auto expected = deliver(setup);
  CHECK(expected.size() > 100 * 32 * 24);
  for (unsigned workers : {1u, 2u, 4u})
    for (std::uint32_t prefetch : {1u, 2u, 8u})
      for (bool resident : {true, false}) {
        CAPTURE(workers);
        CAPTURE(prefetch);
        CAPTURE(resident);
        setup.workers = workers, setup.prefetch = prefetch, setup.resident = resident, setup.readers = 1 + workers % 3;
        CHECK(deliver(setup) == expected);
      }
}

TEST_CASE("a line in another shape every few batches delivers the same") {
  Scheduler scheduler(8);
  for (const bool resident : {true, false}) {
    Setup setup;
    setup.resident = resident;
    const auto expected = deliver(setup);
    const auto before_own = own_threads();
    for (const unsigned every : {1u, 2u, 7u}) {
      CAPTURE(every);
      TrainerFixture fixture(setup);
      Loader line(fixture.parts());
      line.start();
      std::vector<std::byte> seen;
      unsigned batches = 0, other_shapes = 0;
      Stream random(1, Purpose::init, every);
      for (Ticket ticket; line.next(ticket);) {
        append_batch(line.slab(ticket), seen);
        line.release(ticket);
        if (++batches % every != 0) continue;
        const LoaderShape shape{static_cast<unsigned>(1 + random.below(8)), static_cast<unsigned>(1 + random.below(4)),
                                static_cast<std::uint32_t>(1 + random.below(8))};
        line.retune(shape);
        other_shapes += line.shape() != LoaderShape{setup.workers, setup.readers, setup.prefetch};
      }
      line.check_finished();
      CHECK(seen == expected);
      CHECK(other_shapes > 0);
    }
    CHECK(settled(own_threads, before_own) == before_own);
  }
}

TEST_CASE("a line that is to get another shape stops, and fails, like any other") {
  Scheduler scheduler(4);
  for (const bool fails : {false, true}) {
    Setup setup;
    setup.resident = false;
    TrainerFixture fixture(setup);
    if (fails)
      fixture.dataset.before_read = [](std::uint64_t id) {
        if (id == 500) throw std::runtime_error("disk on fire");
      };
    Loader line(fixture.parts());
    line.start();
    bool failed = false;
    Ticket ticket;
    for (int i = 0; i < 60 && !failed && line.next(ticket); ++i) {
      failed = ticket.kind == TicketKind::bad;
      if (!failed) line.release(ticket);
      if (!failed && i % 3 == 0) line.retune({static_cast<unsigned>(1 + i % 4), 2, 3});
    }
    CHECK(failed == fails);
    line.stop();
    CHECK(settled(own_threads, 0) == 0);
  }
}

TEST_CASE("no batch spans two epochs, and each epoch visits every record once") {
  Scheduler scheduler(2);
  for (auto last : {LastBatch::wrap, LastBatch::drop, LastBatch::pad}) {
    Setup setup;
    setup.samples = 101, setup.batch = 13, setup.last = last, setup.iterations = last == LastBatch::drop ? 14 : 16;
    TrainerFixture fixture(setup);
    Loader line(fixture.parts());
    line.start();
    std::vector<std::multiset<std::uint64_t>> epochs(2);
    for (Ticket ticket; line.next(ticket) && ticket.kind == TicketKind::batch; line.release(ticket)) {
      Slab& slab = line.slab(ticket);
      for (auto& row : slab.rows()) epochs.at(slab.epoch()).insert(row.id);
    }
    line.check_finished();
    for (auto& epoch : epochs) {
      const std::set<std::uint64_t> distinct(epoch.begin(), epoch.end());
      CHECK(epoch.size() == (last == LastBatch::wrap ? 104 : last == LastBatch::drop ? 91 : 101));
      CHECK(distinct.size() == (last == LastBatch::drop ? 91 : 101));
    }
  }
}

TEST_CASE("a bad sample is replaced by the same other one, whatever the workers are") {
  Scheduler scheduler(8);
  Setup setup;
  auto break_some = [](TrainerFixture& fixture) {
    fixture.dataset.before_read = [](std::uint64_t id) {
      if (id % 50 == 3) throw SampleError("cannot be read");
    };
    fixture.sampler.before_sample = [](std::uint64_t id) {
      if (id % 50 == 4) throw SampleError("cannot be decoded");
    };
  };
  setup.resident = false;
  const auto expected = deliver(setup, break_some);
  for (unsigned workers : {1u, 4u})
    for (bool resident : {true, false}) {
      setup.workers = workers, setup.resident = resident;
      CHECK(deliver(setup, break_some) == expected);
    }
}

TEST_CASE("an error in a stage travels to compute in its turn") {
  Scheduler scheduler(4);
  for (bool in_read : {true, false}) {
    Setup setup;
    setup.resident = false;
    TrainerFixture fixture(setup);
    auto fault = [](std::uint64_t id) {
      if (id == 500) throw std::runtime_error("disk on fire");
    };
    (in_read ? fixture.dataset.before_read : fixture.sampler.before_sample) = fault;
    Loader line(fixture.parts());
    line.start();
    Ticket ticket;
    std::uint64_t good = 0;
    while (line.next(ticket) && ticket.kind == TicketKind::batch) {
      ++good;
      line.release(ticket);
    }
    REQUIRE(ticket.kind == TicketKind::bad);
    CHECK(ticket.iteration == good + 1);
    CHECK_THROWS_WITH(std::rethrow_exception(line.slab(ticket).error()), doctest::Contains("disk on fire"));
    line.stop();
  }
}

TEST_CASE("a line stops at any moment, and leaves no thread") {
  Scheduler scheduler(4);
  auto round = [](std::uint64_t consume, bool resident) {
    Setup setup;
    setup.resident = resident, setup.iterations = 1'000'000;
    TrainerFixture fixture(setup);
    Loader line(fixture.parts());
    line.start();
    Ticket ticket;
    for (std::uint64_t i = 0; i < consume && line.next(ticket); ++i) line.release(ticket);
    line.stop();
    CHECK_FALSE(line.next(ticket));
  };
  for (std::uint64_t i = 0; i < 40; ++i) round(i, i % 2);
  CHECK(settled(own_threads, 0) == 0);
}

TEST_CASE("a line never started can be dropped") {
  Scheduler scheduler(4);
  TrainerFixture fixture(Setup{});
  const Loader line(fixture.parts());
}

TEST_CASE("a slow consumer bounds what is prepared: a batch for each slab, and one more for each that it gives back") {
  Scheduler scheduler(4);
  Setup setup;
  setup.iterations = 1000;
  TrainerFixture fixture(setup);
  std::atomic<std::uint64_t> sampled{0};
  fixture.sampler.before_sample = [&](std::uint64_t) {
    ++sampled;
    sampled.notify_one();
  };
  Loader line(fixture.parts());
  line.start();
  Ticket ticket;
  for (std::uint64_t given_back = 0; given_back < 100; ++given_back) {
    const auto most = (Loader::slabs(setup.prefetch) + given_back) * setup.batch;
    for (auto now = sampled.load(); now < most; now = sampled) sampled.wait(now);
    CHECK(sampled == most);
    REQUIRE(line.next(ticket));
    CHECK(sampled == most);
    line.release(ticket);
  }
}

TEST_CASE("each batch brings the plan of its iteration, and the schedule has filled it in") {
  Scheduler scheduler(4);
  TrainerFixture fixture(Setup{});
  auto parts = fixture.parts();
  parts.accum = 2;
  parts.iterations.first = 5;
  parts.iterations.last = 40;
  parts.iterations.plan = [](std::uint64_t iteration) {
    return Plan{.iteration = iteration, .validates = iteration % 3 == 0, .last = iteration == 40};
  };
  parts.iterations.schedule = [](Plan& plan) {
    plan.hyper.assign(2, {1.0 / static_cast<double>(plan.iteration), 0, 1});
  };
  Loader line(parts);
  line.start();
  for (std::uint64_t batch = 0; batch < 2 * 36; ++batch) {
    Ticket ticket;
    REQUIRE(line.next(ticket));
    CHECK(ticket.iteration == 5 + batch / 2);
    CHECK(ticket.micro == batch % 2);
    const Plan& plan = line.slab(ticket).plan();
    CHECK(plan.iteration == ticket.iteration);
    CHECK(plan.validates == (plan.iteration % 3 == 0));
    CHECK(plan.last == (plan.iteration == 40));
    REQUIRE(plan.hyper.size() == 2);
    CHECK(plan.hyper[1].lr == 1.0 / static_cast<double>(plan.iteration));
    line.release(ticket);
  }
  Ticket ticket;
  CHECK_FALSE(line.next(ticket));
  line.check_finished();
}

TEST_CASE("an error of the plan or the schedule reaches compute in its turn") {
  Scheduler scheduler(2);
  for (const bool in_plan : {true, false}) {
    TrainerFixture fixture(Setup{});
    auto parts = fixture.parts();
    const auto fault = [](std::uint64_t iteration) {
      if (iteration > 3) throw std::runtime_error("no more plans");
    };
    parts.iterations.plan = [&](std::uint64_t iteration) {
      if (in_plan) fault(iteration);
      return Plan{.iteration = iteration};
    };
    parts.iterations.schedule = [&](Plan& plan) {
      if (!in_plan) fault(plan.iteration);
    };
    Loader line(parts);
    line.start();
    Ticket ticket;
    std::uint64_t good = 0;
    for (; line.next(ticket) && ticket.kind == TicketKind::batch; line.release(ticket)) ++good;
    CHECK(good == 3);
    REQUIRE(ticket.kind == TicketKind::bad);
    CHECK_THROWS_WITH(std::rethrow_exception(line.slab(ticket).error()), "no more plans");
  }
}

TEST_CASE("a line without iterations gives nothing, and is finished") {
  Scheduler scheduler(2);
  TrainerFixture fixture(Setup{});
  auto parts = fixture.parts();
  parts.iterations.first = 7;
  parts.iterations.last = 6;
  Loader line(parts);
  line.start();
  Ticket ticket;
  CHECK_FALSE(line.next(ticket));
  line.check_finished();
}

}  // namespace flowtrain::graph_test
