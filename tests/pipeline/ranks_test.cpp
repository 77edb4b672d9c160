// What a rank tells of its world's times.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <fstream>

#include "pipeline/trainer.h"
#include "tests/pipeline/fakes.h"
#include "tests/pipeline/rates.h"
#include "tests/sampling/temp_folder.h"

using namespace flowtrain;
using namespace flowtrain::testing;

namespace {

/// Rank 0 of 2. Where times are compared the other one names some that this machine does not reach, however busy it is:
/// 500 s for data and 2,000 for computing, in each iteration, and more than all of the time waiting.
class SlowOther : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void sum(const char*, std::span<double> values) override {
    if (values.size() != 12) return;
    values[1] = 1.5;
    values[3] = 500;
    values[5] = 2000;
  }
  std::vector<std::string> gather(const char*, const std::string& mine) override { return {mine, "[]"}; }
  std::string broadcast(const char*, const std::string& mine) override { return mine; }
};

}  // namespace

TEST_CASE("data_wait, data_time and step_time are those of the rank where they are largest") {
  const Scheduler scheduler(2);
  const TempFolder folder;
  const FakeDataset dataset(100, 1, true);
  const FakeSampler sampler(1);
  const FakeOrder order(dataset.size(), 5);
  const auto device = make_cpu_device();
  Schedule schedule;
  schedule.first = 1;
  schedule.last = 4;
  schedule.optimizers = {stepwise(13, 5)};
  LineParts parts{"train", dataset, order, sampler, *device, Batches(dataset.size(), 8, LastBatch::wrap)};
  parts.batch = 4;
  parts.source = schedule.tickets();
  parts.slice = {0, 2};
  Line line(std::move(parts));
  IdleLearner learner;
  SlowOther group;
  BadSamples bad(dataset, {}, [](auto&) {});
  {
    MetricsFile metrics(folder.path() / "metrics.jsonl");
    Display display(ProgressMode::off, schedule.last, &metrics);
    TrainerParts trained{schedule, line};
    trained.learner = &learner;
    trained.group = &group;
    trained.bad_samples = &bad;
    trained.display = &display;
    trained.display_every = 2;
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
