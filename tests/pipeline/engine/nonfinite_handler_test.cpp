#include "pipeline/engine/train/nonfinite_handler.h"

#include <doctest/doctest.h>

#include <cmath>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "tests/pipeline/engine/scripted_learner.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fakes.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::nonfinite_handler_test {

using namespace flowtrain::testing;

namespace {

using Action = NonFinitePolicy::Action;

struct Fixture {
  explicit Fixture(const NonFinitePolicy& policy, SnapshotBranch* snapshots = nullptr)
      : nonfinite(policy, {learner, snapshots, hyper, samples, solo_group()}, state.nonfinite) {
    set_console_level(ConsoleLevel::quiet);
    line.start();
    Ticket ticket;
    line.next(ticket);
    samples.add(line.slab(ticket));
    line.release(ticket);
    hyper.begin_iteration(1, {{0.1, 0.9, 1}});
  }

  RunState state;
  ScriptedLearner learner;
  FakeDataset dataset{10, 1, true};
  FakeSampler sampler{1};
  FakeOrder order{10, 1};
  std::unique_ptr<Device> device = make_cpu_device();
  Scheduler scheduler{1};
  Loader line{{"train", dataset, order, sampler, *device, Batches(10, 2, LastBatch::wrap), 1, 2, 1, 1, 1, 1}};
  BadSamples bad{dataset, {}, [](auto&) {}};
  SampleAccount samples{line, solo_group(), bad, state.samples};
  HookCalls hooks{nullptr, state, state.hooks, solo_group(), 100, 0};
  HyperAdjuster hyper{{"optim"}, {}, hooks, state, state.hyper};
  NonFiniteHandler nonfinite;
};

StepStats stats(double loss, bool overflow = false) {
  StepStats stats{loss, 1};
  stats.overflow = overflow;
  return stats;
}

}  // namespace

TEST_CASE("a finite step is an update, read or not") {
  Fixture run({});
  run.state.nonfinite.rollback_limit = 9;
  CHECK(run.nonfinite.decide(1, std::nullopt) == Decision::update);
  CHECK(run.state.nonfinite.rollback_limit == NonFiniteState::no_limit);
  CHECK(run.nonfinite.decide(1, stats(1)) == Decision::update);
}

TEST_CASE("stop: a loss that is not finite ends the run, with its samples") {
  Fixture run({Action::stop});
  CHECK_FALSE(run.nonfinite.reads_all());
  check_failure(failure_of([&] { run.nonfinite.decide(7, stats(NAN)); }), ExitCode::numerics,
                "the loss is nan at iteration 7; samples of its last batch: ");
  CHECK(run.learner.take_calls().empty());
}

TEST_CASE("skip: so many in a row are left out; a finite one begins anew") {
  Fixture run({Action::skip, 2});
  CHECK(run.nonfinite.reads_all());
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) CHECK(run.nonfinite.decide(1, stats(INFINITY)) == Decision::skip);
    CHECK(run.nonfinite.decide(1, stats(1)) == Decision::update);
  }
  CHECK(run.state.nonfinite.count == 4);
  for (int i = 0; i < 2; ++i) CHECK(run.nonfinite.decide(1, stats(NAN)) == Decision::skip);
  check_failure(failure_of([&] { run.nonfinite.decide(9, stats(NAN)); }), ExitCode::numerics,
                "(2 in a row were skipped)");
}

TEST_CASE("half precision: an overflow lowers the loss's scale, too many in a row end the run") {
  Fixture run({Action::stop, 2});
  for (int i = 0; i < 2; ++i) CHECK(run.nonfinite.decide(1, stats(1, true)) == Decision::scale_down);
  check_failure(failure_of([&] { run.nonfinite.decide(1, stats(1, true)); }), ExitCode::numerics, "2 in a row");
}

TEST_CASE("roll back: the newest target, lower rates, further back where that fails at once; no more than allowed") {
  const TempFolder folder;
  SnapshotPolicy snapshots;
  snapshots.folder = folder.path() / "snapshots";
  SnapshotBranch branch(snapshots, nullptr);
  Fixture run({Action::rollback, 2, 0.5, 3}, &branch);
  for (const std::uint64_t iteration : {10, 20}) {
    run.state.iteration = iteration;
    run.nonfinite.add_rollback_target(iteration);
    branch.save(run.learner, run.state);
  }
  run.learner.calls.clear();
  CHECK(run.nonfinite.decide(25, stats(NAN)) == Decision::roll_back);
  run.nonfinite.roll_back(25, stats(NAN));
  CHECK(run.state.nonfinite.rollback_limit == 19);
  CHECK(run.hyper.lr() == 0.05);
  CHECK(run.learner.take_calls() == Calls{"load_state", "rates"});
  CHECK(run.nonfinite.decide(26, stats(NAN)) == Decision::roll_back);
  run.nonfinite.roll_back(26, stats(NAN));
  CHECK(run.state.nonfinite.rollback_limit == 9);
  CHECK(run.state.hyper.lr_scale == 0.25);
  check_failure(failure_of([&] { run.nonfinite.decide(27, stats(NAN)); }), ExitCode::numerics, "(after 2 rollbacks)");

  Fixture nowhere({Action::rollback, 2});
  check_failure(failure_of([&] { nowhere.nonfinite.roll_back(1, stats(NAN)); }), ExitCode::numerics,
                "there is no snapshot to go back to");
}

TEST_CASE("rollback targets are the newest ones, as many as are kept; without rollbacks there are none") {
  Fixture run({Action::rollback, 5, 0.5, 2});
  for (const std::uint64_t iteration : {10, 20, 20, 30}) run.nonfinite.add_rollback_target(iteration);
  CHECK(run.state.nonfinite.rollback_targets == std::deque<std::uint64_t>{20, 30});
  Fixture stops({Action::stop});
  stops.nonfinite.add_rollback_target(10);
  CHECK(stops.state.nonfinite.rollback_targets.empty());
}

TEST_CASE("iterations that were not read are taken in by the next one that is") {
  Fixture run({Action::stop, 3});
  run.nonfinite.read_deferred(9, {});
  run.nonfinite.read_deferred(9, {.steps = 8, .overflows = 3, .in_a_row = 1, .most_in_a_row = 2});
  CHECK(run.state.nonfinite.count == 3);
  CHECK(run.state.nonfinite.in_a_row == 1);
  run.nonfinite.read_deferred(12, {.steps = 2, .overflows = 2, .in_a_row = 2, .most_in_a_row = 2});
  CHECK(run.state.nonfinite.in_a_row == 3);
  check_failure(failure_of([&] {
                  run.nonfinite.read_deferred(14, {.steps = 1, .overflows = 1, .in_a_row = 1, .most_in_a_row = 1});
                }),
                ExitCode::numerics, "overflowed half precision 4 times in a row before iteration 14");
  check_failure(failure_of([&] { run.nonfinite.read_deferred(20, {.steps = 5, .nonfinite = 17, .loss = NAN}); }),
                ExitCode::numerics, "the loss is nan at iteration 17 (found at iteration 20");
}

}  // namespace flowtrain::nonfinite_handler_test
