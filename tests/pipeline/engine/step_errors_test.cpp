#include "pipeline/engine/train/step_errors.h"

#include <doctest/doctest.h>

#include <new>

#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "tests/pipeline/engine/scripted_learner.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::step_errors_test {

using namespace flowtrain::testing;

namespace {

using Action = ErrorPolicy::Action;

struct Fixture {
  explicit Fixture(const ErrorPolicy& policy, Group& group = solo_group())
      : hooks(nullptr, state, state.hooks, group, 100, 0),
        flags(group, nullptr, nullptr, early_stop, hooks, state),
        errors(
            policy, learner, flags, group, [this] { return own_flags(); }, state.skipped_in_a_row) {
    set_console_level(ConsoleLevel::quiet);
    slab.begin({}, 0, 1, 1);
  }
  bool compute(bool last) {
    return errors.attempt(slab, last, [&] { learner.forward_backward(slab, last ? own_flags() : StepFlags()); });
  }
  StepFlags own_flags() const { return flags.own(0, errors.failed()); }
  // Ends an iteration whose update is left out.
  void skip(std::uint64_t iteration) {
    learner.discard();
    errors.end_iteration(iteration, true);
  }
  void fail() {
    learner.fails = [] { throw UserError(ExitCode::usage, "too large"); };
  }

  RunState state;
  EarlyStop early_stop;
  ScriptedLearner learner;
  HookCalls hooks;
  RunFlags flags;
  StepErrors errors;
  std::unique_ptr<Device> device = make_cpu_device();
  SlabLayout layout{{{"image", DType::u8, {1}}}, 1};
  Slab slab{layout, *device};
};

}  // namespace

TEST_CASE("without errors each micro-batch is computed; the last one takes the flags along") {
  Fixture run({});
  run.early_stop.hours = 1;
  run.state.elapsed_s = 3600;
  CHECK(run.compute(false));
  CHECK_FALSE(run.learner.flags.any());
  CHECK(run.compute(true));
  CHECK(run.learner.flags[Flag::out_of_time] == 1);
  CHECK(run.learner.take_calls() == Calls{"forward_backward", "forward_backward"});
  CHECK_FALSE(run.errors.failed());
}

TEST_CASE("stop: the error is thrown; so are errors that nobody can go on after, whatever the policy") {
  Fixture run({Action::stop});
  run.fail();
  check_failure(failure_of([&] { run.compute(true); }), ExitCode::usage, "too large");
  Fixture skips({Action::skip, 5});
  skips.learner.fails = [] { throw std::bad_alloc(); };
  CHECK_THROWS_AS(skips.compute(true), std::bad_alloc);
}

TEST_CASE("save: the run ends in good order, and the iteration is not finished") {
  Fixture run({Action::save});
  run.fail();
  CHECK_FALSE(run.compute(false));
  CHECK(run.flags.end().stopped == "too large");
  CHECK(run.flags.end().error);
  CHECK(run.learner.take_calls() == Calls{"forward_backward", "discard"});
}

TEST_CASE("skip: the rest of the iteration is not computed, the last micro-batch gives zeros and says so") {
  Fixture run({Action::skip, 2});
  run.fail();
  CHECK(run.compute(false));
  CHECK(run.errors.failed());
  CHECK(run.compute(false));
  CHECK(run.compute(true));
  CHECK(run.learner.take_calls() == Calls{"forward_backward", "zeros"});
  CHECK(run.learner.flags[Flag::step_failed] == 1);
  run.skip(1);
  CHECK(run.learner.take_calls() == Calls{"discard"});
  CHECK_FALSE(run.errors.failed());
  CHECK(run.state.skipped_in_a_row == 1);

  CHECK(run.compute(true));  // in the last one
  CHECK(run.learner.take_calls() == Calls{"forward_backward", "zeros"});
  run.skip(2);
  CHECK(run.compute(true));
  check_failure(failure_of([&] { run.skip(3); }), ExitCode::usage, "too large");
}

TEST_CASE("skip: an error after the exchange has begun ends the run; another rank's errors are named as such") {
  QuietGroup group(1, 2);
  Fixture run({Action::skip, 0}, group);
  check_failure(failure_of([&] { run.skip(4); }), ExitCode::distributed,
                "at iteration 4, for errors of other processes");
  run.learner.takes_zeros = false;
  run.fail();
  check_failure(failure_of([&] { run.compute(true); }), ExitCode::usage, "too large");
}

}  // namespace flowtrain::step_errors_test
