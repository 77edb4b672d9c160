// A rank reports the times of all ranks.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <csignal>

#include <fstream>

#include "pipeline/engine/train/display.h"
#include "pipeline/engine/train/trainer.h"
#include "tests/pipeline/engine/hyper_parameters.h"
#include "tests/pipeline/engine/trainer_fixture.h"
#include "tests/support/fakes.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::ranks_test {

using namespace flowtrain::testing;

namespace {

/// Rank 0 of 2. Where times are compared the other one names some that this machine does not reach, however busy it is:
/// 500 s for data and 2,000 for computing, in each iteration, and more than all of the time waiting.
class SlowOther : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void sum(const char*, std::span<double> values) override {
    if (values.size() != 18) return;
    values[1] = 1.5;
    values[3] = 500;
    values[5] = 2000;
  }
  std::vector<std::string> gather(const char*, const std::string& mine) override { return {mine, "[]"}; }
  std::string broadcast(const char*, const std::string& mine) override { return mine; }
  Group& beside() override { return *this; }
};

/// Rank 0 of 2, the other of which is asked to end by SIGTERM while the `asked_in`th agreement about a validation is
/// under way (0: never). Its batches take so long that ranks agree on each.
class AskedOther : public Group {
 public:
  explicit AskedOther(int asked_in) : left_(asked_in) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void sum(const char*, std::span<double> values) override {
    if (values.size() != 3) return;
    if (--left_ == 0) values[1] = 1;
    values[2] = 1e6;
  }
  std::vector<std::string> gather(const char*, const std::string& mine) override { return {mine, "[]"}; }
  std::string broadcast(const char*, const std::string& mine) override { return mine; }
  Group& beside() override { return *this; }

 private:
  int left_;
};

}  // namespace

TEST_CASE("ranks leave a validation together where one of them is asked to end, and the resumed run does it") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.validate_every = 5, setup.snapshot_every = 0;
  for (const int agreement : {1, 3}) {
    CAPTURE(agreement);
    TempFolder folder;
    std::uint64_t stopped = 0;
    {
      AskedOther group(agreement);
      TrainerFixture fixture(setup, folder.path());
      fixture.group = &group;
      const auto result = fixture.run().result;
      CHECK(result.signal == SIGTERM);
      stopped = result.iteration;
      CHECK(stopped < setup.last);
      CHECK(stopped % setup.validate_every == 0);
    }
    TrainerFixture resumed(setup, folder.path());
    std::uint64_t validated = 0;
    resumed.learner.on_validate = [&] { ++validated; };
    CHECK(resumed.run().params == TrainerFixture(setup).run().params);
    CHECK(validated == 4 * (1 + (setup.last - stopped) / setup.validate_every));
  }
}

TEST_CASE("a signal that ranks learn of in a validation beside training ends the run where all come to the next one") {
  const Scheduler scheduler(4);
  RunSetup setup;
  setup.async = true, setup.validate_every = 5, setup.snapshot_every = 0;
  const Outcome expected = TrainerFixture(setup).run();
  for (const int agreement : {1, 3}) {
    CAPTURE(agreement);
    TempFolder folder;
    {
      AskedOther group(0), beside(agreement);
      TrainerFixture fixture(setup, folder.path());
      fixture.group = &group;
      fixture.replica.measuring = &beside;
      const auto result = fixture.run().result;
      CHECK(result.signal == SIGTERM);
      CHECK(result.iteration == 10);
    }
    const auto state = RunState::from_json(open_snapshot(find_iteration(folder.path(), 10)).state_json);
    CHECK(state.validations.due);
    REQUIRE(state.validations.pending);
    CHECK(state.validations.pending->iteration == 5);
    const Outcome resumed = TrainerFixture(setup, folder.path()).run();
    CHECK(resumed.params == expected.params);
    CHECK(resumed.remembered == expected.remembered);
  }
}

TEST_CASE("data_wait, data_time and step_time are those of the rank where they are largest") {
  const Scheduler scheduler(2);
  const TempFolder folder;
  const FakeDataset dataset(100, 1, true);
  const FakeSampler sampler(1);
  const FakeOrder order(dataset.size(), 5);
  const auto device = make_cpu_device();
  RunPlan run_plan;
  run_plan.first = 1;
  run_plan.last = 4;
  run_plan.optimizers = {stepwise(13, 5)};
  LoaderParts parts{"train", dataset, order, sampler, *device, Batches(dataset.size(), 8, LastBatch::wrap)};
  parts.batch = 4;
  parts.iterations.first = run_plan.first;
  parts.iterations.last = run_plan.last;
  parts.iterations.plan = [&](std::uint64_t iteration) { return run_plan.plan(iteration); };
  parts.iterations.schedule = [&](Plan& plan) { plan.hyper = run_plan.hyper(plan.iteration); };
  parts.slice = {0, 2};
  Loader line(std::move(parts));
  IdleLearner learner;
  SlowOther group;
  BadSamples bad(dataset, {}, [](auto&) {});
  {
    MetricsFile metrics(folder.path() / "metrics.jsonl");
    Display display(ProgressMode::off, run_plan.last, &metrics);
    TrainerParts trained{run_plan, line};
    trained.learner = &learner;
    trained.group = &group;
    trained.bad_samples = &bad;
    trained.reports.loggers.outlets.to = {&display};
    trained.reports.every = 2;
    Trainer(trained, RunState{}).run();
    display.finish();
  }
  std::ifstream file(folder.path() / "metrics.jsonl");
  int lines = 0;
  for (std::string text; std::getline(file, text); ++lines) {
    const auto line_of = nlohmann::json::parse(text);
    CHECK(line_of.at("data_wait") == 1.5);
    CHECK(line_of.at("data_time") == 500.0);
    CHECK(line_of.at("step_time") == 2000.0);
    CHECK(line_of.at("slowest_rank") == 1);
    CHECK(line_of.at("slowest_time") == 2500.0);
  }
  CHECK(lines == 2);
}

}  // namespace flowtrain::ranks_test
