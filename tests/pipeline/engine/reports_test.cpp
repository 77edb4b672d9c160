#include "pipeline/engine/train/reports.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/train/display.h"
#include "pipeline/engine/train/loader_tuning.h"
#include "tests/pipeline/engine/scripted_learner.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::reports_test {

using namespace flowtrain::testing;
using nlohmann::json;

namespace {

std::vector<json> lines_of(const std::filesystem::path& path) {
  std::vector<json> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) lines.push_back(json::parse(text));
  return lines;
}

}  // namespace

TEST_CASE("means are over what was read and finite, without learning rates, and go on where a run does") {
  struct EpochLogger final : Logger {
    Scalars means;
    void step(const StepEvent&, const Scalars&) override {}
    void epoch(std::uint64_t, std::uint64_t, const Scalars& of_epoch) override { means = of_epoch; }
  } logger;
  Loggers loggers;
  loggers.outlets.to = {&logger};
  RunState state;
  HookCalls hooks(nullptr, state, state.hooks, solo_group(), 3, 3);
  const auto put = [&](std::uint64_t iteration, double loss, const Scalars& scalars) {
    ThroughputMeter meter;
    Reports reports({3, 0, 3}, loggers, hooks, solo_group(), meter, state.reports);  // anew, as after an interruption
    meter.start(0);
    state.iteration = iteration;
    reports.put({.iteration = iteration, .loss = loss, .grad_norm = NAN}, scalars);
    return reports.epoch_means();
  };
  put(1, 1, {{"loss.part", 3}, {"lr.a", 0.1}});
  put(2, NAN, {{"loss.part", 9}});
  CHECK(logger.means.empty());
  const Scalars means = put(3, 2, {});
  REQUIRE(logger.means.size() == 4);  // samples_per_s and data_wait, too
  CHECK(logger.means[0] == std::pair<std::string, double>("loss", 1.5));
  CHECK(logger.means[1] == std::pair<std::string, double>("loss.part", 3));
  CHECK(means == Scalars{{"loss", 1.5}, {"loss.part", 3}});  // rules of the validation after it see them
  CHECK(put(4, 5, {}) == Scalars{{"loss", 5.0}});
}

TEST_CASE("the last 20 values of updates count for the smoothed ones, and only if they are finite") {
  RunState state;
  const Loggers loggers;
  HookCalls hooks(nullptr, state, state.hooks, solo_group(), 3, 0);
  ThroughputMeter meter;
  Reports reports({}, loggers, hooks, solo_group(), meter, state.reports);
  for (int i = 0; i < 25; ++i) reports.add({.loss = static_cast<double>(i), .grad_norm = 1}, true);
  reports.add({.loss = 1000}, false);
  reports.add({.loss = NAN, .grad_norm = 1}, true);
  CHECK(state.reports.recent.at("loss").size() == 20);
  CHECK(state.reports.recent.at("loss").front() == 5);
  CHECK(state.reports.recent_mean("loss") == doctest::Approx(14.5));
  CHECK(state.reports.recent_mean("grad_norm") == doctest::Approx(1));
  CHECK(state.reports.recent_mean("other") == 0);
}

TEST_CASE("the time that is left goes by the last seconds, or by the last iterations where they are long") {
  IterationWindow window;
  CHECK(window.iteration_s() == 0);
  std::uint64_t done = 0;
  double now = 2;  // the first iteration takes long
  window.add(++done, now);
  CHECK(window.iteration_s() == 2);
  while (done < 2000) window.add(++done, now += 0.01);
  CHECK(window.iteration_s() == doctest::Approx(0.01));
  // Ten times as slow: known after as much time as the window spans.
  for (int i = 0; i < 60; ++i) window.add(++done, now += 0.1);
  CHECK(window.iteration_s() == doctest::Approx(0.1).epsilon(0.05));
  for (int i = 0; i < 8; ++i) window.add(++done, now += 30);
  CHECK(window.iteration_s() > 25);
}

TEST_CASE(
    "an epoch's line comes with the iteration in which the epoch ends, also where it is no whole number of them") {
  struct EpochLogger final : Logger {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ends, steps;
    void step(const StepEvent& event, const Scalars&) override { steps.emplace_back(event.iteration, event.epoch); }
    void epoch(std::uint64_t iteration, std::uint64_t epoch, const Scalars&) override {
      ends.emplace_back(iteration, epoch);
    }
  } logger;
  Loggers loggers;
  loggers.outlets.to = {&logger};
  RunState state;
  const Every epoch(5, 3);
  HookCalls hooks(nullptr, state, state.hooks, solo_group(), 5, epoch);
  ThroughputMeter meter;
  Reports reports({5, 0, epoch}, loggers, hooks, solo_group(), meter, state.reports);
  meter.start(0);
  for (std::uint64_t iteration = 1; iteration <= 5; ++iteration) {
    state.iteration = iteration;
    reports.put({.iteration = iteration, .loss = 1, .grad_norm = 1}, {});
  }
  using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  CHECK(logger.ends == Pairs{{2, 0}, {4, 1}, {5, 2}});
  CHECK(logger.steps == Pairs{{1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 2}});
}

TEST_CASE("throughput: rates since the last report, a pause left out; waits are shares of the time") {
  ThroughputMeter meter;
  meter.start(100);
  meter.waited(std::chrono::hours(1));
  { const ThroughputMeter::Computing computing(meter); }
  meter.count_samples(30, 30);
  meter.count_iteration();
  meter.count_iteration();
  StepEvent event{.report = true};
  event.times = meter.times(event.report);
  CHECK(event.times.samples_per_s > 0);
  CHECK(event.times.p50_s == doctest::Approx(3600).epsilon(0.05));
  CHECK(event.times.p99_s == event.times.p50_s);
  CHECK(event.times.data_s == 1800);
  CHECK(event.times.data_wait > 1);  // the hour was not waited for by this test's clock
  CHECK(meter.wait_s() == 3600);
  CHECK(meter.elapsed_s() >= 100);
  const auto time = meter.take_iteration();
  CHECK(time.waited_s == 3600);
  CHECK(meter.take_iteration().waited_s == 0);
  meter.compare_ranks(solo_group(), event);
  CHECK(event.ranks.slowest == -1);  // a process alone is compared with nobody
  meter.begin_report();
  meter.count_iteration();
  event.times = meter.times(event.report);
  CHECK(event.times.data_wait == 0);
  CHECK(event.times.samples_per_s == 0);
  meter.paused(-std::chrono::hours(1));  // as if the epoch had begun an hour earlier
  const Scalars epoch = meter.end_epoch();
  CHECK(epoch[0].first == "samples_per_s");
  CHECK(epoch[0].second == doctest::Approx(30.0 / 3600).epsilon(0.01));
  CHECK(epoch[1].second == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("each iteration is shown; a train line tells what was read, an epoch line the means") {
  const TempFolder folder;
  RunState state;
  HookCalls hooks(nullptr, state, state.hooks, solo_group(), 4, 4);
  {
    MetricsFile metrics(folder.path() / "metrics.jsonl");
    Display display(ProgressMode::off, 4, &metrics);
    Loggers loggers;
    loggers.outlets.to = {&display};
    ThroughputMeter meter;
    Reports reports({4, 2, 4}, loggers, hooks, solo_group(), meter, state.reports);
    meter.start(0);
    CHECK(reports.due(2));
    CHECK_FALSE(reports.due(3));
    hooks.logged() = {{"own", 7}, {"part_avg", 3}, {"loss", 100}};
    state.reports.note("part", 5);
    state.reports.note("loss", 6);
    for (std::uint64_t iteration = 1; iteration <= 4; ++iteration) {
      state.iteration = iteration;
      StepEvent event{.iteration = iteration};
      if (iteration % 2 == 0) event.loss = static_cast<double>(iteration);
      state.reports.line.clipped += iteration == 1;
      reports.put(event, {{"loss.part", 1}, {"part", 2}});
    }
    display.finish();
  }
  const auto lines = lines_of(folder.path() / "metrics.jsonl");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["kind"] == "train");
  CHECK(lines[0]["iter"] == 2);
  CHECK(lines[0]["loss"] == 2.0);
  CHECK(lines[0]["loss.part"] == 1.0);
  CHECK(lines[0]["own"] == 7.0);
  CHECK(lines[0]["own_avg"] == 7.0);
  CHECK(lines[0]["part_avg"] == 3.0);  // what bears the name itself
  CHECK(lines[0]["loss_avg"] == 6.0);  // a hook's value of that name does not count
  CHECK(lines[1]["part_avg"] == 5.0);
  CHECK_FALSE(lines[1].contains("own_avg"));
  CHECK(lines[0]["clipped"] == 0.5);
  CHECK_FALSE(lines[1].contains("own"));  // told once
  CHECK(lines[1]["clipped"] == 0.0);
  CHECK(lines[2]["kind"] == "epoch");
  CHECK(lines[2]["loss"] == 3.0);
}

TEST_CASE("what hooks log after an iteration counts in the next one, also where the run goes on in between") {
  RunState state;
  const Loggers none;
  {
    Hooks anyone;
    HookCalls hooks(&anyone, state, state.hooks, solo_group(), 2, 0);
    hooks.logged() = {{"own", 7}};
    hooks.save();
  }
  state = RunState::from_json(state.to_json());
  HookCalls hooks(nullptr, state, state.hooks, solo_group(), 2, 0);
  ThroughputMeter meter;
  Reports reports({2, 5, 0}, none, hooks, solo_group(), meter, state.reports);
  meter.start(0);
  for (const std::uint64_t iteration : {1, 2}) {
    state.iteration = iteration;
    reports.put({.iteration = iteration}, {});
    CHECK(state.reports.recent.at("own").size() == 1);
    CHECK(state.reports.line.logged == Scalars{{"own", 7}});
  }
}

TEST_CASE("a step that was not read has no loss in its epoch's mean") {
  RunState state;
  HookCalls hooks(nullptr, state, state.hooks, solo_group(), 2, 2);
  const Loggers none;
  ThroughputMeter meter;
  Reports reports({2, 0, 2}, none, hooks, solo_group(), meter, state.reports);
  meter.start(0);
  CHECK_FALSE(reports.due(2));
  state.iteration = 1;
  reports.put({.iteration = 1}, {});
  CHECK(state.reports.epoch_sums.empty());
  CHECK(state.reports.line.iterations == 1);
}

TEST_CASE("the line of a validation omits accuracies of classes, and shows those of groups by another field") {
  const TempFolder folder;
  set_log_file(folder.path() / "log");
  for (const bool groups : {false, true}) {
    Display display(ProgressMode::off, 1, nullptr, groups);
    display.validation({.iteration = 1, .scalars = {{"accuracy", 0.5}, {"accuracy.3", 0.25}}});
    display.finish();
  }
  std::ifstream file(folder.path() / "log");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)  // the file begins with earlier lines of this process
    if (line.find("validation at iteration 1: accuracy") != line.npos) lines.push_back(line);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].ends_with("validation at iteration 1: accuracy 0.5000"));
  CHECK(lines[1].ends_with("validation at iteration 1: accuracy 0.5000  accuracy.3 0.2500"));
}

}  // namespace flowtrain::reports_test
