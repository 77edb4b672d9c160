#include "pipeline/engine/train/trainer.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "tests/pipeline/engine/trainer_fixture.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::trainer_test {

using namespace flowtrain::testing;

TEST_CASE("parameters and order do not depend on workers, prefetch, or how often it validates") {
  const Scheduler scheduler(8);
  const Outcome expected = TrainerFixture(RunSetup{}).run();
  CHECK(expected.result.iteration == 60);
  for (unsigned workers : {1u, 2u, 4u})
    for (std::uint32_t prefetch : {1u, 2u, 8u}) {
      RunSetup setup;
      setup.workers = workers, setup.prefetch = prefetch, setup.validate_every = workers * 7;
      const Outcome outcome = TrainerFixture(setup).run();
      CHECK(outcome.params == expected.params);
      CHECK(outcome.order == expected.order);
    }
}

TEST_CASE("a run that died again and again ends as one that never did") {
  const Scheduler scheduler(8);
  for (std::uint32_t accum : {1u, 3u}) {
    RunSetup setup;
    setup.accum = accum, setup.validate_every = 15;
    const Outcome expected = TrainerFixture(setup).run();
    TempFolder folder;
    Stream random(accum, Purpose::init, 0);
    const auto [outcome, starts] = run_dying(setup, folder.path(), [&] { return 5 + random.below(20) * accum; });
    CHECK(starts > 3);
    CHECK(outcome.params == expected.params);
    CHECK(outcome.order == expected.order);
  }
}

TEST_CASE("an interrupted run finishes its step, snapshots, and goes on from there") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.snapshot_every = 0, setup.accum = 2;
  const Outcome expected = TrainerFixture(setup).run();
  for (int signal : {SIGINT, SIGTERM}) {
    TempFolder folder;
    {
      const Interrupt interrupt;
      TrainerFixture fixture(setup, folder.path());
      fixture.learner.on_train = [&](const Ticket& ticket) {
        if (ticket.iteration == 23 && ticket.micro == 0) raise(signal);
      };
      const Outcome outcome = fixture.run(&interrupt);
      CHECK(outcome.result.signal == signal);
      CHECK(outcome.result.iteration == 23);
    }
    CHECK(list_snapshots(folder.path()).at(0).iteration == 23);
    const Outcome outcome = TrainerFixture(setup, folder.path()).run();
    CHECK(outcome.params == expected.params);
    CHECK(outcome.order == expected.order);
  }
}

TEST_CASE("an interrupted run whose server is away ends with the last whole iteration, and goes on from there") {
  const Scheduler scheduler(4);
  for (std::uint32_t accum : {1u, 3u}) {
    RunSetup setup;
    setup.snapshot_every = 0, setup.accum = accum, setup.resident = false;
    const Outcome expected = TrainerFixture(setup).run();
    TempFolder folder;
    {
      const Interrupt interrupt;
      TrainerFixture fixture(setup, folder.path());
      const std::uint64_t batches = 22 * accum + (accum > 1 ? 1 : 0);  // the next is of iteration 23
      std::atomic<std::uint64_t> trained = 0;
      fixture.learner.on_train = [&](const Ticket&) { ++trained; };
      fixture.dataset.away_from(batches * 32, [&] {
        while (trained < batches) std::this_thread::yield();
        raise(SIGTERM);
      });
      const Outcome outcome = fixture.run(&interrupt);
      CHECK(outcome.result.signal == SIGTERM);
      CHECK(outcome.result.iteration == 22);
      CHECK(fixture.warnings.empty());
      CHECK(fixture.learner.discarded == (accum > 1 ? 1 : 0));
    }
    CHECK(list_snapshots(folder.path()).at(0).iteration == 22);
    const Outcome outcome = TrainerFixture(setup, folder.path()).run();
    CHECK(outcome.params == expected.params);
    CHECK(outcome.order == expected.order);
  }
}

TEST_CASE("a validation that is interrupted, or was about to begin, is done by the resumed run") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.validate_every = 20, setup.snapshot_every = 0;
  for (bool within : {false, true}) {
    TempFolder folder;
    {
      const Interrupt interrupt;
      TrainerFixture fixture(setup, folder.path());
      if (within)
        fixture.learner.on_validate = [] { raise(SIGINT); };
      else
        fixture.learner.on_train = [](const Ticket& ticket) {
          if (ticket.iteration == 20) raise(SIGINT);
        };
      CHECK(fixture.run(&interrupt).result.iteration == 20);
    }
    TrainerFixture fixture(setup, folder.path());
    int validated = 0;
    fixture.learner.on_validate = [&] { ++validated; };
    CHECK(fixture.run().params == TrainerFixture(setup).run().params);
    CHECK(validated == 3 * 4);
  }
}

TEST_CASE("a signal in the last validation interrupts the run, whether it is resumed for that or not") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.validate_every = 20, setup.snapshot_every = 0;
  for (const bool final_snapshot : {true, false}) {
    CAPTURE(final_snapshot);
    setup.final_snapshot = final_snapshot;
    TempFolder folder;
    for (int start = 0; start < 3; ++start) {
      const Interrupt interrupt;
      TrainerFixture fixture(setup, folder.path());
      fixture.learner.on_validate = [left = start == 0 ? 9 : 1]() mutable {
        if (--left == 0) raise(SIGTERM);  // in the validation of the last iteration
      };
      const Outcome outcome = fixture.run(&interrupt);
      CHECK(outcome.result.signal == SIGTERM);
      CHECK(outcome.result.iteration == 60);
      CHECK(list_snapshots(folder.path()).at(0).iteration == 60);
    }
    const Outcome outcome = TrainerFixture(setup, folder.path()).run();
    CHECK_FALSE(outcome.result.signal);
    CHECK(outcome.params == TrainerFixture(setup).run().params);
  }
}

TEST_CASE("bad samples are counted in step order, and the budget stops the run at the same iteration") {
  const Scheduler scheduler(8);
  auto broken = [](std::uint64_t id) {
    if (id % 100 == 17) throw SampleError("truncated");
  };
  std::vector<std::string> first;
  for (unsigned workers : {1u, 2u, 4u})
    for (bool resident : {true, false}) {
      RunSetup setup;
      setup.workers = workers, setup.resident = resident, setup.bad_budget = 4;
      TrainerFixture fixture(setup);
      (resident ? fixture.sampler.before_sample : fixture.dataset.before_read) = broken;
      const auto failure = failure_of([&] { fixture.run(); });
      check_failure(failure, ExitCode::data, "that is more than data.max_bad = 4 allows");
      if (!resident) continue;
      fixture.warnings.emplace_back(failure.what());
      if (first.empty()) first = fixture.warnings;
      CHECK(fixture.warnings == first);
      CHECK(fixture.warnings.size() == 5);
    }
  RunSetup stop;
  TrainerFixture fixture(stop);
  fixture.sampler.before_sample = broken;
  check_failure(failure_of([&] { fixture.run(); }), ExitCode::data, "sample: truncated");
}

TEST_CASE("errors of any stage end the run with that error, at any position") {
  const Scheduler scheduler(4);
  for (std::uint64_t at : {0u, 1u, 31u, 500u, 999u}) {
    RunSetup setup;
    setup.resident = false, setup.last = 40;
    auto fault = [at](std::uint64_t id) {
      if (id == at) throw UserError(ExitCode::data, "broken " + std::to_string(at));
    };
    {
      TrainerFixture fixture(setup);
      fixture.dataset.before_read = fault;
      check_failure(failure_of([&] { fixture.run(); }), ExitCode::data, "broken " + std::to_string(at));
    }
    TrainerFixture fixture(setup);
    fixture.sampler.before_sample = [&](std::uint64_t id) {
      if (id == at) throw std::runtime_error("broken");
    };
    const auto failure = failure_of<InternalError>([&] { fixture.run(); });
    CHECK(std::string(failure.what()) == "stage sample, fake #" + std::to_string(at) + ": broken");
  }
}

TEST_CASE("a loss that is not finite stops the run with its samples") {
  const Scheduler scheduler(4);
  TrainerFixture fixture(RunSetup{});
  fixture.learner.on_train = [&](const Ticket& ticket) {
    if (ticket.iteration == 9) fixture.learner.loss = std::nan("");
  };
  check_failure(failure_of([&] { fixture.run(); }), ExitCode::numerics,
                "the loss is nan at iteration 9; samples of its last batch: ");
}

TEST_CASE(
    "where nobody waits for each step, the next look names the first bad one, and counts what half precision left "
    "out") {
  const Scheduler scheduler(4);
  const auto run = [](const std::function<void(TrainerFixture&, std::uint64_t)>& at, bool is_cheap,
                      std::uint64_t most = 3) {
    RunSetup setup;
    setup.nonfinite.most = most;
    TrainerFixture fixture(setup);
    fixture.learner.is_cheap = is_cheap;
    fixture.learner.on_train = [&](const Ticket& ticket) { at(fixture, ticket.iteration); };
    return fixture.run();
  };
  const auto bad_from_9 = [](TrainerFixture& fixture, std::uint64_t iteration) {
    fixture.learner.loss = iteration < 9 ? 0.5 : std::nan("");
  };
  std::string text[2];
  for (bool is_cheap : {false, true}) text[is_cheap] = failure_of([&] { run(bad_from_9, is_cheap); }).what();
  const std::string names_samples = "; samples of its last batch: ";
  CHECK(text[0].starts_with("the loss is nan at iteration 9 (found at iteration 10, the next one that was looked at)" +
                            names_samples));
  CHECK(text[0].substr(text[0].find(names_samples)) == text[1].substr(text[1].find(names_samples)));

  // 14 to 16, 19 to 21 (20 is looked at): never more than three in a row.
  const auto overflowing = [](TrainerFixture& fixture, std::uint64_t iteration) {
    fixture.learner.overflows = (iteration >= 14 && iteration <= 16) || (iteration >= 19 && iteration <= 21);
  };
  const Outcome unread = run(overflowing, false), read = run(overflowing, true);
  CHECK(unread.params == read.params);
  for (bool is_cheap : {false, true})
    check_failure(failure_of([&] { run(overflowing, is_cheap, 2); }), ExitCode::numerics, " in a row");
}

TEST_CASE("an update that is skipped is left out, wherever the run is interrupted; too many in a row end it") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.nonfinite = {NonFinitePolicy::Action::skip, 2};
  auto bad_at = [](TrainerFixture& fixture, std::set<std::uint64_t> iterations) {
    fixture.learner.on_train = [&fixture, iterations = std::move(iterations)](const Ticket& ticket) {
      fixture.learner.loss = iterations.contains(ticket.iteration) ? INFINITY : 0.5;
    };
  };
  TrainerFixture straight(setup);
  bad_at(straight, {9, 20, 21, 40});
  const Outcome expected = straight.run();
  CHECK(straight.learner.discarded == 4);
  CHECK(expected.result.iteration == 60);
  CHECK(expected.order == TrainerFixture(setup).run().order);
  CHECK(expected.params != TrainerFixture(setup).run().params);

  TempFolder folder;
  setup.last = 20;
  TrainerFixture part(setup, folder.path());
  bad_at(part, {9, 20});
  part.run();
  setup.last = 60;
  TrainerFixture rest(setup, folder.path());
  bad_at(rest, {21, 40});
  CHECK(rest.run().params == expected.params);

  TrainerFixture hopeless(setup, folder.path() / "another");
  bad_at(hopeless, {20, 21, 22});
  check_failure(failure_of([&] { hopeless.run(); }), ExitCode::numerics, "at iteration 22 (2 in a row were skipped)");
}

TEST_CASE("a rollback goes to the newest snapshot, further back where that fails at once, and lowers the rate") {
  const Scheduler scheduler(4);
  TempFolder folder;
  RunSetup setup;
  setup.nonfinite = {NonFinitePolicy::Action::rollback, 2, 0.5};
  setup.last = 33;
  TrainerFixture fixture(setup, folder.path());
  std::vector<std::uint64_t> weights;  // before each iteration
  LearnerState state;
  fixture.learner.on_train = [&](const Ticket& ticket) {
    fixture.learner.loss = ticket.iteration == 32 || ticket.iteration == 33 ? NAN : 0.5;
    fixture.learner.copy_state(state);
    std::uint64_t weight = 0;
    std::memcpy(&weight, state.model[0].bytes.data(), 8);
    weights.push_back(weight);
  };
  const Outcome outcome = fixture.run();
  REQUIRE(weights.size() == 33);
  CHECK(weights[32] == weights[30]);  // after iteration 32: those of snapshot 30
  const auto last = open_snapshot(find_newest(folder.path()).path.value());
  CHECK(last.iteration == 33);
  CHECK(read_tensors(last).model[0].bytes ==
        read_tensors(open_snapshot(find_iteration(folder.path(), 20))).model[0].bytes);
  CHECK(RunState::from_json(last.state_json).hyper.lr_scale == 0.25);

  setup.last = 40;
  TrainerFixture too_many(setup, folder.path());
  too_many.learner.loss = NAN;
  check_failure(failure_of([&] { too_many.run(); }), ExitCode::numerics, "at iteration 34 (after 2 rollbacks)");
  TrainerFixture nowhere(setup);
  nowhere.learner.loss = NAN;
  check_failure(failure_of([&] { nowhere.run(); }), ExitCode::numerics, "there is no snapshot to go back to");
}

TEST_CASE("a snapshot that is due while one is being written waits, or is left out") {
  const Scheduler scheduler(4);
  const Outcome expected = TrainerFixture(RunSetup{}).run();
  for (bool skips : {false, true}) {
    TempFolder folder;
    RunSetup setup;
    setup.snapshot_every = 1, setup.skip_when_busy = skips;
    CHECK(TrainerFixture(setup, folder.path()).run().params == expected.params);
    CHECK(list_snapshots(folder.path()).front().iteration == 60);  // the last is never left out
  }
}

TEST_CASE("snapshots to keep for good are not pruned") {
  const Scheduler scheduler(4);
  TempFolder folder;
  RunSetup setup;
  setup.snapshot_every = 5, setup.keep_every = 20;
  TrainerFixture(setup, folder.path()).run();
  std::vector<std::uint64_t> kept;
  for (auto& info : list_snapshots(folder.path())) kept.push_back(info.iteration);
  CHECK(kept == std::vector<std::uint64_t>{60, 55, 50, 40, 20});
}

TEST_CASE("a snapshot that cannot be written ends the run where that is asked for") {
  const Scheduler scheduler(4);
  TempFolder folder;
  RunSetup setup;
  setup.stop_on_error = true;
  TrainerFixture fixture(setup, folder.write("blocked", "a file where a folder is wanted") / "snapshots");
  check_failure(failure_of([&] { fixture.run(); }), ExitCode::snapshot, "no snapshot of iteration 10: ");
}

TEST_CASE("with a step of 20 ms and data that takes less, compute waits for data less than 1 % of the time" *
          doctest::test_suite("nightly alone")) {
  const Scheduler scheduler(4);
  // What the graph itself waits is in every run; a machine that stalls for a moment is not.
  double least = 1;
  for (int tries = 0; tries < 5 && least >= 0.01; ++tries) {
    RunSetup setup;
    setup.last = 150;
    TrainerFixture fixture(setup);
    fixture.learner.on_train = [](const Ticket&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    fixture.sampler.before_sample = [](std::uint64_t) { std::this_thread::sleep_for(std::chrono::microseconds(200)); };
    const Outcome outcome = fixture.run();
    least = std::min(least, outcome.result.load.wait_s / outcome.result.load.wall_s);
    MESSAGE("data_wait " << least);
  }
  CHECK(least < 0.01);
}

TEST_CASE("a full disk at a snapshot: training goes on") {
  const Scheduler scheduler(4);
  TempFolder folder;
  const auto file = folder.write("blocked", "a file where a folder is wanted");
  TrainerFixture fixture(RunSetup{}, file / "snapshots");
  CHECK(fixture.run().params == TrainerFixture(RunSetup{}).run().params);
}

}  // namespace flowtrain::trainer_test
