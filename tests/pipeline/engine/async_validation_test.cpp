// Validation on a copy while training goes on: the metrics, their consequences, and resumed runs.

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "sampling/core/error.h"
#include "tests/pipeline/engine/trainer_fixture.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::async_validation_test {

using namespace flowtrain::testing;

namespace {

// Validations after 15, 30, 45 and, as the last iteration, 60; which is best follows from the weights.
RunSetup validating_async() {
  RunSetup setup;
  setup.async = true;
  setup.validate_every = 15;
  setup.best = {{"weight", false, 2}};
  return setup;
}

// From the second validation on nothing gets better.
RunSetup never_better() {
  RunSetup setup = validating_async();
  setup.schedules = [] { return std::vector{plateau({{"patience", std::int64_t{0}}})}; };
  return setup;
}

RunState state_of(const std::filesystem::path& folder, std::uint64_t iteration) {
  return RunState::from_json(open_snapshot(find_iteration(folder, iteration)).state_json);
}

std::vector<std::uint64_t> iterations_in(const std::filesystem::path& folder) {
  std::vector<std::uint64_t> all;
  for (auto& info : list_snapshots(folder)) all.push_back(info.iteration);
  return all;
}

// Interrupted after 23 iterations, while the validation of 15 is under way.
void interrupt_in(const std::filesystem::path& folder, const RunSetup& setup) {
  const Interrupt interrupt;
  TrainerFixture fixture(setup, folder);
  fixture.learner.on_train = [](const Ticket& ticket) {
    if (ticket.iteration == 23) raise(SIGTERM);
  };
  fixture.replica.on_validate = [&] {
    while (!interrupt.requested()) std::this_thread::yield();
  };
  CHECK(fixture.run(&interrupt).result.signal == SIGTERM);
}

}  // namespace

TEST_CASE("training goes on while a copy is validated, and ends as if it had waited") {
  const Scheduler scheduler(8);
  RunSetup waiting = validating_async();
  waiting.async = false;
  const Outcome expected = TrainerFixture(waiting).run();
  TrainerFixture fixture(validating_async());
  std::atomic<std::uint64_t> trained = 0;
  fixture.learner.on_train = [&](const Ticket& ticket) { trained = ticket.iteration; };
  fixture.replica.on_validate = [&, batches = std::uint64_t{0}]() mutable {
    const std::uint64_t validated = 15 * (batches++ / 4 + 1);
    while (trained < validated + 3) std::this_thread::yield();
  };
  const Outcome outcome = fixture.run();
  CHECK(outcome.params == expected.params);
  CHECK(outcome.order == expected.order);
  CHECK(outcome.remembered == expected.remembered);
}

TEST_CASE("all validations beside training are made by one thread, which training does not share") {
  const Scheduler scheduler(8);
  TrainerFixture fixture(validating_async());
  std::set<std::thread::id> threads;
  int batches = 0;
  fixture.replica.on_validate = [&] {
    threads.insert(std::this_thread::get_id());
    ++batches;
  };
  fixture.run();
  CHECK(batches == 3 * 4);  // the net itself is used for the last validation, beside which nothing trains
  CHECK(threads.size() == 1);
  CHECK_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_CASE("what follows from a validation follows at the next one, however long it takes") {
  const Scheduler scheduler(8);
  const auto hyper = [](const RunSetup& setup) {
    TrainerFixture fixture(setup);
    std::map<std::uint64_t, double> seen;
    fixture.learner.on_train = [&](const Ticket& ticket) { seen[ticket.iteration] = fixture.learner.lr(); };
    fixture.run();
    return seen;
  };
  auto plain = hyper(validating_async()), lowered = hyper(never_better());
  for (auto& [iteration, rate] : plain)
    CHECK(lowered[iteration] == doctest::Approx(iteration <= 45 ? rate : rate / 10));

  RunSetup stopping = validating_async();
  stopping.early_stop = {{{"loss"}}, 1};
  TempFolder folder;
  const Outcome outcome = TrainerFixture(stopping, folder.path()).run();
  CHECK(outcome.result.iteration == 45);
  CHECK_FALSE(outcome.result.stopped.empty());
  const Outcome again = TrainerFixture(stopping, folder.path()).run();
  CHECK(again.result.iteration == 45);
  CHECK(again.params == outcome.params);
}

TEST_CASE("each snapshot stands for itself: before a validation it is about to be done, later its metrics are there") {
  const Scheduler scheduler(8);
  TempFolder folder;
  RunSetup setup = validating_async();
  setup.keep_every = 5;
  TrainerFixture(setup, folder.path()).run();
  CHECK(state_of(folder.path(), 30).validations.due);
  CHECK_FALSE(state_of(folder.path(), 30).validations.pending);
  const RunState later = state_of(folder.path(), 40);
  CHECK_FALSE(later.validations.due);
  REQUIRE(later.validations.pending);
  CHECK(later.validations.pending->iteration == 30);
  REQUIRE(later.validations.pending->scalars);
  CHECK(later.validates_again_from() == 41);
  CHECK(state_of(folder.path(), 30).validates_again_from() == 30);
  CHECK_FALSE(state_of(folder.path(), 60).validations.pending);
  CHECK_FALSE(state_of(folder.path(), 60).validations.due);

  const auto link = std::filesystem::read_symlink(folder.path() / "best").filename().string();
  CHECK(link == snapshot_name(state_of(folder.path(), 60).validations.best.at("best").entries.front().iteration));
}

TEST_CASE("a run with async validation that died again and again ends as one that never did") {
  const Scheduler scheduler(8);
  for (std::uint64_t every : {4, 10}) {
    RunSetup setup = never_better();
    setup.snapshot_every = every;
    const Outcome expected = TrainerFixture(setup).run();
    TempFolder folder;
    Stream random(every, Purpose::init, 0);
    const auto [outcome, starts] = run_dying(setup, folder.path(), [&] { return 8 + random.below(20); });
    CHECK(starts > 2);
    CHECK(outcome.params == expected.params);
    CHECK(outcome.remembered == expected.remembered);
  }
}

TEST_CASE("a validation that a signal interrupts is begun anew, on the weights that it was of") {
  const Scheduler scheduler(8);
  RunSetup setup = never_better();
  setup.snapshot_every = 0;
  const Outcome expected = TrainerFixture(setup).run();
  SUBCASE("and nothing shows") {
    TempFolder folder;
    interrupt_in(folder.path(), setup);
    const RunState state = state_of(folder.path(), 23);
    REQUIRE(state.validations.pending);
    CHECK(state.validations.pending->iteration == 15);
    CHECK_FALSE(state.validations.pending->scalars);
    CHECK(state.validates_again_from() == 15);
    const Outcome outcome = TrainerFixture(setup, folder.path()).run();
    CHECK(outcome.params == expected.params);
    CHECK(outcome.remembered == expected.remembered);
  }
  SUBCASE("they are not there any more: it is left out") {
    TempFolder folder;
    interrupt_in(folder.path(), setup);
    std::filesystem::remove_all(find_iteration(folder.path(), 15));
    const auto best =
        RunState::from_json(TrainerFixture(setup, folder.path()).run().remembered).validations.best.at("best").entries;
    CHECK(std::none_of(best.begin(), best.end(), [](auto& entry) { return entry.iteration == 15; }));
  }
  SUBCASE("the resumed run has no copy: it is left out") {
    TempFolder folder;
    interrupt_in(folder.path(), setup);
    setup.async = false;
    CHECK(TrainerFixture(setup, folder.path()).run().result.iteration == 60);
  }
}

TEST_CASE("metrics that are awaited reach a resumed run that has no copy") {
  const Scheduler scheduler(8);
  const RunSetup setup = validating_async();
  const Outcome expected = TrainerFixture(setup).run();
  TempFolder folder;
  TrainerFixture fixture(setup, folder.path());
  fixture.learner.on_train = [](const Ticket& ticket) {
    if (ticket.iteration == 22) throw std::runtime_error("killed");
  };
  CHECK_THROWS_AS(fixture.run(), std::runtime_error);
  CHECK(iterations_in(folder.path()).front() == 20);
  RunSetup waiting = setup;
  waiting.async = false;
  CHECK(TrainerFixture(waiting, folder.path()).run().remembered == expected.remembered);
}

TEST_CASE("an error of the validation ends the run") {
  const Scheduler scheduler(8);
  TrainerFixture fixture(validating_async());
  std::uint64_t trained = 0;
  fixture.learner.on_train = [&](const Ticket& ticket) { trained = ticket.iteration; };
  fixture.replica.on_validate = [] { throw UserError(ExitCode::data, "a picture is damaged"); };
  check_failure(failure_of([&] { fixture.run(); }), ExitCode::data, "a picture is damaged");
  CHECK(trained <= 30);
}

TEST_CASE("an error of the validation after which the run is to go on leaves that validation out") {
  const Scheduler scheduler(8);
  RunSetup setup = validating_async();
  const Outcome expected = TrainerFixture(setup).run();
  setup.val_errors = {ErrorPolicy::Action::skip, 0};
  TrainerFixture fixture(setup);
  fixture.replica.on_validate = [batches = 0]() mutable {
    if (++batches == 2) throw UserError(ExitCode::data, "a picture is damaged");
  };
  const Outcome outcome = fixture.run();
  CHECK(outcome.params == expected.params);
  const auto best = RunState::from_json(outcome.remembered).validations.best.at("best").entries,
             all = RunState::from_json(expected.remembered).validations.best.at("best").entries;
  CHECK(std::none_of(best.begin(), best.end(), [](auto& entry) { return entry.iteration == 15; }));
  CHECK(RunState::from_json(outcome.remembered).validations.sets.at("").batches ==
        RunState::from_json(expected.remembered).validations.sets.at("").batches);
  CHECK_FALSE(all.empty());
}

TEST_CASE(
    "an error of the validation after which the run is to save ends it between iterations, and the resumed run makes "
    "it") {
  const Scheduler scheduler(8);
  RunSetup setup = never_better();
  setup.accum = 3;
  const Outcome expected = TrainerFixture(setup).run();
  setup.val_errors = {ErrorPolicy::Action::save, 0};
  TempFolder folder;
  TrainerFixture fixture(setup, folder.path());
  fixture.replica.on_validate = [] { throw UserError(ExitCode::data, "a picture is damaged"); };
  const TrainerResult result = fixture.run().result;
  check_failure(failure_of([&] { std::rethrow_exception(result.error); }), ExitCode::data, "a picture is damaged");
  CHECK(result.iteration <= 30);
  const RunState state = state_of(folder.path(), result.iteration);
  CHECK(state.validates_again_from() == 15);
  const Outcome outcome = TrainerFixture(setup, folder.path()).run();
  CHECK(outcome.params == expected.params);
  CHECK(outcome.remembered == expected.remembered);
}

}  // namespace flowtrain::async_validation_test
