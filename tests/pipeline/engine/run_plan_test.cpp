#include "pipeline/engine/graph/run_plan.h"

#include <doctest/doctest.h>

#include <cmath>

#include "pipeline/engine/train/run_state.h"
#include "sampling/core/error.h"

namespace flowtrain::run_plan_test {

namespace {

// "1 2v 3s …": v: validates, s: saves, S: likewise by the period, .: the last.
std::string plans(const RunPlan& run_plan) {
  std::string text;
  for (auto iteration = run_plan.first; iteration <= run_plan.last; ++iteration) {
    const Plan plan = run_plan.plan(iteration);
    CHECK(plan.iteration == iteration);
    text += (text.empty() ? "" : " ") + std::to_string(iteration) + (plan.validates ? "v" : "") +
            (plan.saves_by_period ? "S"
             : plan.saves         ? "s"
                                  : "") +
            (plan.last ? "." : "");
  }
  return text;
}

}  // namespace

TEST_CASE("plans say what follows an iteration") {
  RunPlan run_plan;
  run_plan.last = 5;
  run_plan.validate_every = 2;
  run_plan.snapshot_every = 3;
  CHECK(plans(run_plan) == "1 2v 3S 4v 5vs.");
  run_plan.first = 5;
  run_plan.final_snapshot = false;
  CHECK(plans(run_plan) == "5v.");
  run_plan.first = 6;
  CHECK(plans(run_plan).empty());
}

TEST_CASE("a run's state survives as text") {
  RunState state;
  state.iteration = 123;
  state.inputs.samples_per_epoch = 1000;
  const std::uint64_t ids[] = {5, 6, 7};
  state.samples.order.update(std::as_bytes(std::span(ids)));
  state.reports.recent = {{"loss", {0.1, 1.0 / 3}}, {"grad_norm", {2.5}}};
  state.validations.best = {{"best", {{"accuracy"}, {{100, 0.9}, {50, 0.8}}}}};
  state.validations.sets = {{"", {12, {7}}}, {"clean", {3, {}}}};
  state.validations.due = true;
  state.validations.pending = PendingValidation{100, Scalars{{"loss", 0.1}, {"f1", std::nan("")}}};
  state.samples.bad_samples = {3, 4};
  state.elapsed_s = 1.5;
  state.inputs.classes = {"cat", "", "caf\xe9", "\"\n"};
  state.inputs.parts = {{"caf\xe9", Encoding::text}, {"tokens", Encoding::array, DType::i32, {-1, 3}}};
  state.inputs.fingerprints = {{"data.train", "0123456789abcdef"}};
  auto again = RunState::from_json(state.to_json());
  CHECK(again.to_json() == state.to_json());
  CHECK(again.reports.recent == state.reports.recent);
  REQUIRE(again.inputs.parts.size() == 2);
  CHECK(again.inputs.parts[0].name == "caf\xe9");
  CHECK(again.inputs.parts[0].encoding == Encoding::text);
  CHECK(again.inputs.parts[1].dtype == DType::i32);
  CHECK(again.inputs.parts[1].shape == std::vector<std::int64_t>{-1, 3});
  CHECK(again.inputs.classes == state.inputs.classes);  // also names that are not UTF-8
  CHECK(again.inputs.fingerprints == state.inputs.fingerprints);
  CHECK(again.validations.pending->scalars->at(0) == state.validations.pending->scalars->at(0));
  CHECK(std::isnan(again.validations.pending->scalars->at(1).second));
  state.validations.pending->scalars.reset();
  CHECK(RunState::from_json(state.to_json()).to_json() == state.to_json());
  again.samples.order.update(std::as_bytes(std::span(ids)));
  state.samples.order.update(std::as_bytes(std::span(ids)));
  CHECK(again.samples.order.hex() == state.samples.order.hex());
  for (const char* bad : {"", "{}", "[1]", "{\"iteration\": \"x\"}"})
    CHECK_THROWS_AS(RunState::from_json(bad), UserError);
}

}  // namespace flowtrain::run_plan_test
