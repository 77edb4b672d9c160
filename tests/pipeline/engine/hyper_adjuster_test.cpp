#include "pipeline/engine/train/hyper_adjuster.h"

#include <doctest/doctest.h>

#include "tests/pipeline/engine/hyper_parameters.h"
#include "tests/pipeline/engine/scripted_learner.h"

using namespace flowtrain;
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

struct Fixture {
  explicit Fixture(std::vector<StatefulSchedule> schedules = {}, std::uint64_t per_epoch = 0)
      : hooks((added.add(std::make_unique<Doubling>(seen), "doubling"), &added), state, solo_group(), 100, per_epoch),
        hyper(learner, {"a", "b"}, std::move(schedules), hooks, state) {}

  std::vector<std::string> seen;
  RunState state;
  ScriptedLearner learner;
  Hooks added;
  HookCalls hooks;
  HyperAdjuster hyper;
};

const std::vector<HyperParameters> scheduled{{0.1, 0.9, 1}, {0.2, 0.5, 1}};

}  // namespace

TEST_CASE("the learner is told of hyper-parameters where they change; hooks come last") {
  Fixture run;
  run.hyper.begin_iteration(1, scheduled);
  CHECK(run.learner.hyper == scheduled);
  run.state.iteration = 1;
  run.hyper.begin_iteration(2, scheduled);
  CHECK(run.learner.hyper[0].lr == 0.2);
  run.state.iteration = 2;
  run.hyper.begin_iteration(3, scheduled);
  CHECK(run.learner.hyper == scheduled);
  CHECK(run.learner.take_calls().size() == 3);
  run.state.iteration = 4;
  run.hyper.begin_iteration(5, scheduled);
  CHECK(run.learner.take_calls().empty());
}

TEST_CASE("a rollback's lower rate is used at once, and by all iterations to come") {
  Fixture run;
  run.hyper.begin_iteration(1, scheduled);
  run.state.lr_scale = 0.5;
  run.hyper.lower();
  CHECK(run.hyper.lr() == 0.05);
  run.hyper.begin_iteration(1, scheduled);
  CHECK(run.learner.hyper[1].lr == 0.1);
  CHECK(run.learner.hyper[1].momentum == 0.5);
  Scalars scalars;
  run.hyper.append_hyper(scalars);
  CHECK(scalars == Scalars{{"lr.a", 0.05}, {"lr.b", 0.1}});
}

TEST_CASE("a plateau lowers its optimizer's rate once validation no longer improves") {
  Fixture run({plateau({{"patience", std::int64_t{0}}}, "b")});
  run.hyper.record({{"loss", 1.0}});
  run.hyper.begin_iteration(1, scheduled);
  CHECK(run.learner.hyper == scheduled);
  run.hyper.record({{"loss", 1.0}});
  run.hyper.begin_iteration(1, scheduled);
  CHECK(run.learner.hyper[0].lr == 0.1);
  CHECK(run.learner.hyper[1].lr == doctest::Approx(0.02));

  // Another one goes on from the run's state.
  auto resumed = plateau({{"patience", std::int64_t{0}}}, "b");
  RunState state;
  state.schedules = run.state.schedules;
  HyperAdjuster again(run.learner, {"a", "b"}, {resumed}, run.hooks, state);
  again.begin_iteration(2, scheduled);
  CHECK(run.learner.hyper[1].lr == doctest::Approx(0.02));
  state.schedules = {{"plateau", "none"}, {"gone", ""}};
  CHECK_THROWS_WITH_AS(HyperAdjuster(run.learner, {"a", "b"}, {resumed}, run.hooks, state),
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
