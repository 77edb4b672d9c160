#include "pipeline/engine/train/sample_account.h"

#include <doctest/doctest.h>

#include "sampling/core/error.h"
#include "tests/pipeline/engine/scripted_learner.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fakes.h"

namespace flowtrain::sample_account_test {

using namespace flowtrain::testing;

namespace {

constexpr std::uint64_t rows = 8;

/// The line of one rank of `size`, and its account.
struct Fixture {
  explicit Fixture(Group& group, std::uint64_t budget = 10, std::uint64_t torn = 3)
      : line(parts(group)), bad(dataset, {"train", budget}, [](auto&) {}), account(line, group, bad, state.samples) {
    sampler.before_sample = [torn](std::uint64_t id) {
      if (id == torn) throw SampleError("torn");
    };
    line.start();
  }

  LoaderParts parts(const Group& group) {
    LoaderParts parts{"train", dataset, order, sampler, *device, Batches(dataset.size(), rows, LastBatch::wrap)};
    parts.slice = {static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(group.size())};
    parts.batch = static_cast<std::uint32_t>(rows / parts.slice.world);
    return parts;
  }

  /// One iteration, of one micro-batch; returns the rows that count.
  std::size_t iterate(std::uint64_t iteration) {
    Ticket ticket;
    line.next(ticket);
    const auto count = account.add(line.slab(ticket));
    seen = {};
    for (auto& row : line.slab(ticket).rows()) seen.push_back(row.id);
    line.release(ticket);
    StepFlags flags;
    flags[Flag::bad_samples] = static_cast<double>(account.bad());
    account.account(iteration, flags);
    return count;
  }

  Scheduler scheduler{2};
  RunState state;
  FakeDataset dataset{40, 1, true};
  FakeSampler sampler{1};
  FakeOrder order{40, 5};
  std::unique_ptr<Device> device = make_cpu_device();
  Loader line;
  BadSamples bad;
  SampleAccount account;
  std::vector<std::uint64_t> seen;  ///< records of this rank's rows, as trained on
};

}  // namespace

TEST_CASE("alone: what a batch was trained on goes into the order's hash, a substitute for a bad sample") {
  Fixture run(solo_group());
  Xxh64 expected;
  for (std::uint64_t iteration = 1; iteration <= 5; ++iteration) {
    CHECK(run.iterate(iteration) == rows);
    expected.update(std::as_bytes(std::span(run.seen)));
    CHECK(run.account.last_batch() == run.seen);
  }
  CHECK(run.state.samples.order.hex() == expected.hex());
  CHECK(run.state.samples.bad_samples == std::set<std::uint64_t>{3});  // once an epoch
}

TEST_CASE("rank 0 of several accounts for all rows, as one process alone does; the others for none") {
  constexpr std::uint64_t none = 1000;
  Fixture alone(solo_group(), 10, none);
  QuietGroup first(0, 2), second(1, 2);
  Fixture leader(first, 10, none), other(second, 10, none);
  for (std::uint64_t iteration = 1; iteration <= 5; ++iteration) {
    alone.iterate(iteration);
    CHECK(leader.iterate(iteration) == rows);
    CHECK(other.iterate(iteration) == 0);
    CHECK(leader.account.last_batch() == alone.account.last_batch());
    CHECK(other.account.last_batch() == alone.account.last_batch());
  }
  CHECK(leader.state.samples.order.hex() == alone.state.samples.order.hex());
  CHECK(other.state.samples.order.hex() == Xxh64().hex());
  CHECK(first.collectives.empty());  // nothing was bad
}

TEST_CASE("too many bad samples end the run") {
  Fixture run(solo_group(), 0);
  check_failure(failure_of([&] {
                  for (std::uint64_t iteration = 1; iteration <= 5; ++iteration) run.iterate(iteration);
                }),
                ExitCode::data, "sample: torn");
}

TEST_CASE("an iteration that is discarded leaves nothing; an earlier one's rows are told as drawn") {
  Fixture run(solo_group());
  Ticket ticket;
  run.line.next(ticket);
  run.account.add(run.line.slab(ticket));
  run.line.release(ticket);
  run.account.discard();
  CHECK(run.account.bad() == 0);
  run.account.account(1, {});
  CHECK(run.state.samples.order.hex() == Xxh64().hex());
  const auto first = run.account.drawn(1);
  CHECK(first.size() == rows);
  for (std::size_t i = 0; i < rows; ++i) CHECK(first[i] == run.order.at(0, i));
}

}  // namespace flowtrain::sample_account_test
