// The statistics of steps are read later, without waiting for them.

#include "stages/torch/step/step_readout.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "stages/torch/readout.h"
#include "tests/support/tiny_learner.h"

namespace flowtrain::deferred_steps_test {

namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

at::Tensor scalar(float value) { return at::full({}, value); }

DeferredStats taken(DeferredSteps& steps) {
  Readout read;
  const auto kept = read.ask(steps.kept());
  read.fetch();
  const DeferredStats summary = steps.summary(read[kept]);
  steps.forget();
  return summary;
}

}  // namespace

TEST_CASE("of unread steps the first that was not finite is known, and how often half precision left one out") {
  DeferredSteps steps;
  CHECK(taken(steps).steps == 0);
  const std::vector<std::pair<float, float>> scalars{{1, 2}, {1, inf}, {not_a_number, not_a_number}, {not_a_number, 1}};
  for (std::size_t i = 0; i < scalars.size(); ++i)
    steps.add(10 + i, scalar(scalars[i].first), scalar(scalars[i].second), {});
  DeferredStats unread = taken(steps);
  CHECK(unread.steps == 4);
  CHECK(unread.nonfinite == 11);
  CHECK(unread.loss == 1);
  CHECK(std::isinf(unread.grad_norm));
  CHECK(unread.overflows == 0);
  CHECK(taken(steps).nonfinite == 0);

  for (float overflow : {1, 1, 1, 0, 1, 1})
    steps.add(20, scalar(1), scalar(overflow > 0 ? inf : 1), at::full({1}, overflow));
  unread = taken(steps);
  CHECK(unread.nonfinite == 0);
  CHECK(unread.overflows == 5);
  CHECK(unread.in_a_row == 2);
  CHECK(unread.most_in_a_row == 3);
  steps.add(30, scalar(not_a_number), scalar(inf), at::full({1}, 1.f));
  CHECK(taken(steps).nonfinite == 30);
}

TEST_CASE("a learner that is not asked in each step learns the same, and tells afterwards what was not finite") {
  testing::Tables tables;
  const auto device = make_cpu_device();
  Slab slab(testing::layout, *device);
  const auto train = [&](Learner& learner, std::uint64_t asked_every, std::uint64_t wild) {
    StepStats last;
    for (std::uint64_t iteration = 1; iteration <= 6; ++iteration) {
      testing::fill(slab, iteration, 8);
      const HyperParameters hyper{iteration == wild ? 1e38 : 0.01, 0.9, 1};
      learner.set_hyper(std::span(&hyper, 1));
      learner.forward_backward(slab, {});
      learner.finish_gradients();
      if (iteration % asked_every == 0) last = learner.stats();
      learner.update();
    }
    LearnerState state;
    learner.copy_state(state);
    state.settle();
    return std::pair(last, state.model);
  };
  const auto each = train(*tables.learner({}), 1, 0), at_end = train(*tables.learner({}), 6, 0);
  CHECK(each.first.deferred.steps == 0);
  CHECK(at_end.first.deferred.steps == 5);
  CHECK(at_end.first.deferred.nonfinite == 0);
  CHECK(at_end.first.loss == each.first.loss);
  for (std::size_t i = 0; i < each.second.size(); ++i) CHECK((each.second[i].bytes == at_end.second[i].bytes));
  CHECK(train(*tables.learner({}), 6, 3).first.deferred.nonfinite == 4);
}

}  // namespace flowtrain::deferred_steps_test
