#include "pipeline/engine/train/run_flags.h"

#include <doctest/doctest.h>

#include <csignal>

#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "sampling/core/error.h"
#include "tests/pipeline/engine/scripted_learner.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::run_flags_test {

using namespace flowtrain::testing;

namespace {

/// Calls `body` at one event.
class At : public Hook {
 public:
  At(HookEvent event, std::function<void(HookContext&)> body) : event_(event), body_(std::move(body)) {}
  std::vector<HookEvent> events() const override { return {event_}; }
  void on_event(HookEvent, HookContext& context) override { body_(context); }

 private:
  HookEvent event_;
  std::function<void(HookContext&)> body_;
};

struct Fixture {
  explicit Fixture(Group& group, const Interrupt* interrupt = nullptr)
      : hooks(&added, state, state.hooks, group, 100, 0), flags(group, interrupt, nullptr, early_stop, hooks, state) {}

  RunState state;
  EarlyStop early_stop{.hours = 1};
  Hooks added;
  HookCalls hooks;
  RunFlags flags;
};

StepFlags flag(Flag flag) {
  StepFlags flags;
  flags[flag] = 1;
  return flags;
}

}  // namespace

TEST_CASE("own flags say what this process has found, and wants") {
  Fixture run(solo_group());
  CHECK_FALSE(run.flags.own(0, false).any());
  CHECK(run.flags.own(3, false)[Flag::bad_samples] == 3);
  CHECK(run.flags.own(0, true)[Flag::step_failed] == 1);
  run.state.elapsed_s = 3600;
  CHECK(run.flags.own(0, false)[Flag::out_of_time] == 1);
  run.added.add(std::make_unique<At>(HookEvent::iteration_end, [](HookContext& context) { context.stop("enough"); }),
                "a");
  run.hooks(HookEvent::iteration_end);
  CHECK(run.flags.own(0, false)[Flag::stopped] == 1);
}

TEST_CASE("alone a process acts on its own flags at once; of several, each waits for the sum of all") {
  const Interrupt interrupt;
  raise(SIGTERM);
  {
    Fixture run(solo_group(), &interrupt);
    CHECK_FALSE(run.flags.travel());
    CHECK(run.flags.of_all(run.flags.own(2, false), std::nullopt)[Flag::bad_samples] == 2);
    run.flags.look_again();
    CHECK(run.flags.end().signal == SIGTERM);
    CHECK(run.flags.cancels_reads().stop_possible());
  }
  QuietGroup group(1, 2);
  Fixture run(group, &interrupt);
  CHECK(run.flags.travel());
  run.flags.look_again();
  CHECK_FALSE(run.flags.end());
  CHECK_FALSE(run.flags.cancels_reads().stop_possible());
  StepStats stats;
  stats.flags[Flag::interrupted] = 1;
  run.flags.apply(run.flags.of_all(run.flags.own(0, false), stats));
  CHECK(run.flags.end().signal == SIGINT);  // another rank's
  CHECK(group.collectives.empty());
}

TEST_CASE("between iterations a time limit is not looked at, and a signal is seen whatever else has ended the run") {
  Fixture late(solo_group());
  late.state.elapsed_s = 3600;
  late.flags.look_again();
  CHECK_FALSE(late.flags.end());
  late.flags.apply(late.flags.own(0, false));
  CHECK(late.flags.end());

  const Interrupt interrupt;
  Fixture run(solo_group(), &interrupt);
  run.added.add(std::make_unique<At>(HookEvent::iteration_end, [](HookContext& context) { context.stop("enough"); }),
                "a");
  run.hooks(HookEvent::iteration_end);
  run.flags.look_at_hooks();
  CHECK(run.flags.end().stopped == "enough");
  run.flags.look_for_signal();
  CHECK_FALSE(run.flags.end().signal);
  raise(SIGINT);
  run.flags.look_again();  // the run ends as it is
  CHECK_FALSE(run.flags.end().signal);
  run.flags.look_for_signal();
  CHECK(run.flags.end().signal == SIGINT);
  run.flags.stop_with_error(std::make_exception_ptr(std::runtime_error("no room")));
  CHECK(run.flags.end().stopped == "no room");
}

TEST_CASE("a signal comes before a time limit, and that before a hook; the first reason stays") {
  Fixture run(solo_group());
  auto all = flag(Flag::stopped);
  run.flags.apply(all);
  CHECK(run.flags.end().stopped == "a hook of another process asked for it");
  all[Flag::out_of_time] = 1;
  run.flags.apply(all);
  CHECK(run.flags.end().stopped == "a hook of another process asked for it");
  CHECK_FALSE(run.flags.end().signal);

  Fixture other(solo_group());
  other.flags.apply(all);
  CHECK(other.flags.end().stopped == other.early_stop.out_of_time_text());
  all[Flag::interrupted] = all[Flag::terminated] = 1;
  other.flags.apply(all);
  CHECK(other.flags.end().signal == SIGTERM);
}

TEST_CASE("a snapshot that rank 0 could not write ends all ranks") {
  QuietGroup group(1, 2);
  Fixture run(group);
  StepFlags wanted, failed;
  wanted[Flag::snapshot_failed] = SnapshotFlags(false, true).value();
  failed[Flag::snapshot_failed] = SnapshotFlags(true, true).value();
  run.flags.apply(wanted);
  CHECK_FALSE(run.flags.end());
  check_failure(failure_of([&] { run.flags.apply(failed); }), ExitCode::snapshot,
                "rank 0 could not write a snapshot, or has lost the run's folder");
  CHECK_THROWS_AS(run.flags.apply(failed), FailedElsewhere);  // rank 0's own error is the one to show
}

TEST_CASE("an error that ends a run in good order is told to hooks, and is the reason") {
  Fixture run(solo_group());
  std::string reported;
  run.added.add(
      std::make_unique<At>(HookEvent::exception, [&](HookContext& context) { reported = context.error->what(); }), "a");
  run.flags.stop_with_error(std::make_exception_ptr(std::runtime_error("no room\nframe #0")));
  CHECK(run.flags.end().stopped == "no room");
  CHECK(reported == "no room\nframe #0");
  CHECK_THROWS_WITH(std::rethrow_exception(run.flags.end().error), "no room\nframe #0");
}

TEST_CASE("a validation that a signal ends ends the run by it") {
  QuietGroup group(0, 2);
  Fixture run(group);
  CHECK(run.flags.validation_goes_on());
  CHECK_FALSE(run.flags.end());
  group.adds = [](std::span<double> values) { values[0] = 1; };
  CHECK_FALSE(run.flags.validation_goes_on());
  CHECK(run.flags.end().signal == SIGINT);
}

}  // namespace flowtrain::run_flags_test
