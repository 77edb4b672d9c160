#include "pipeline/engine/train/hyper_adjuster.h"

#include <doctest/doctest.h>

#include "tests/pipeline/engine/hyper_parameters.h"
#include "tests/pipeline/engine/scripted_learner.h"

namespace flowtrain::hyper_adjuster_test {

using namespace flowtrain::testing;

namespace {

/// Doubles the first optimizer's rate in even iterations, and notes events.
class Doubling : public Hook {
 public:
  explicit Doubling(std::vector<std::string>& seen) : seen_(seen) {}
  std::vector<HookEvent> events() const override {
    return {HookEvent::epoch_begin, HookEvent::iteration_begin, HookEvent::iteration_end, HookEvent::epoch_end};
  }
  void on_event(HookEvent event, HookContext& context) override {
    seen_.push_back(std::string(name_of(event)) + " " + std::to_string(context.iteration) + " of epoch " +
                    std::to_string(context.epoch));
    if (event == HookEvent::iteration_begin && context.iteration % 2 == 0) context.hyper[0].lr *= 2;
  }

 private:
  std::vector<std::string>& seen_;
};

const std::vector<HyperParameters> scheduled{{0.1, 0.9, 1}, {0.2, 0.5, 1}};

struct Fixture {
  explicit Fixture(std::vector<StatefulSchedule> schedules = {}, std::uint64_t per_epoch = 0)
      : hooks((added.add(std::make_unique<Doubling>(seen), "doubling"), &added), state, state.hooks, solo_group(), 100,
              per_epoch),
        hyper({"a", "b"}, std::move(schedules), hooks, state, state.hyper) {}
  /// Returns the hyper-parameters of an iteration.
  std::vector<HyperParameters> begin(std::uint64_t iteration) {
    changed = hyper.begin_iteration(iteration, scheduled);
    return {hyper.used().begin(), hyper.used().end()};
  }

  std::vector<std::string> seen;
  RunState state;
  Hooks added;
  HookCalls hooks;
  HyperAdjuster hyper;
  bool changed = false;  ///< by begin()
};

}  // namespace

TEST_CASE("hyper-parameters are new only in iterations that change them; hooks come last") {
  Fixture run;
  CHECK(run.begin(1) == scheduled);
  CHECK(run.changed);
  run.state.iteration = 1;
  CHECK(run.begin(2)[0].lr == 0.2);
  CHECK(run.changed);
  run.state.iteration = 2;
  CHECK(run.begin(3) == scheduled);
  CHECK(run.changed);
  run.state.iteration = 4;
  CHECK(run.begin(5) == scheduled);
  CHECK_FALSE(run.changed);
}

TEST_CASE("a rollback's lower rate is used at once, and by all iterations to come") {
  Fixture run;
  run.begin(1);
  CHECK(run.hyper.lower(0.5));
  CHECK(run.hyper.lr() == 0.05);
  const auto used = run.begin(1);
  CHECK_FALSE(run.changed);
  CHECK(used[1].lr == 0.1);
  CHECK(used[1].momentum == 0.5);
  Scalars scalars;
  run.hyper.append_hyper(scalars);
  CHECK(scalars == Scalars{{"lr.a", 0.05}, {"lr.b", 0.1}});
}

TEST_CASE("a plateau lowers its optimizer's rate once validation no longer improves") {
  Fixture run({plateau({{"patience", std::int64_t{0}}}, "b")});
  run.hyper.record({{"loss", 1.0}});
  CHECK(run.begin(1) == scheduled);
  run.hyper.record({{"loss", 1.0}});
  const auto used = run.begin(1);
  CHECK(used[0].lr == 0.1);
  CHECK(used[1].lr == doctest::Approx(0.02));

  // Another one goes on from the run's state.
  auto resumed = plateau({{"patience", std::int64_t{0}}}, "b");
  HyperState state{.schedules = run.state.hyper.schedules};
  HyperAdjuster again({"a", "b"}, {resumed}, run.hooks, run.state, state);
  again.begin_iteration(2, scheduled);
  CHECK(again.used()[1].lr == doctest::Approx(0.02));
  state.schedules = {{"plateau", "none"}, {"gone", ""}};
  CHECK_THROWS_WITH_AS(HyperAdjuster({"a", "b"}, {resumed}, run.hooks, run.state, state),
                       "the snapshot's state of the schedule 'plateau': 'none' is not a state of plateau", UserError);
}

TEST_CASE("hooks are told of iterations and epochs by their numbers") {
  Fixture run({}, 2);
  for (std::uint64_t iteration = 1; iteration <= 3; ++iteration) {
    run.hyper.begin_iteration(iteration, scheduled);
    run.state.iteration = iteration;
    run.hooks.end_iteration({});
  }
  CHECK(run.seen == std::vector<std::string>{
                        "epoch_begin 1 of epoch 0", "iteration_begin 1 of epoch 0", "iteration_end 1 of epoch 0",
                        "iteration_begin 2 of epoch 0", "iteration_end 2 of epoch 0", "epoch_end 2 of epoch 0",
                        "epoch_begin 3 of epoch 1", "iteration_begin 3 of epoch 1", "iteration_end 3 of epoch 1"});
}

}  // namespace flowtrain::hyper_adjuster_test
