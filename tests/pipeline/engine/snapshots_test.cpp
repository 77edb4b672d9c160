#include "pipeline/engine/train/snapshots.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/train/display.h"
#include "pipeline/engine/train/throughput_meter.h"
#include "tests/pipeline/engine/scripted_learner.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::snapshots_test {

using namespace flowtrain::testing;

namespace {

// What Snapshots works on.
struct SavingRun {
  SavingRun() { set_console_level(ConsoleLevel::quiet); }
  Snapshots make(const Loggers& loggers) {
    return {{.branch = &branch, .learner = learner, .hooks = hooks, .loggers = loggers, .meter = meter}, state};
  }
  std::filesystem::path snapshots() const { return folder.path() / "snapshots"; }

  TempFolder folder;
  SnapshotBranch branch{{.folder = snapshots()}, nullptr};
  RunState state;
  ThroughputMeter meter;
  ScriptedLearner learner;
  HookCalls hooks{nullptr, state, state.hooks, solo_group(), 100, 0};
};

}  // namespace

TEST_CASE("an iteration has one snapshot, unless more has come of it since") {
  SavingRun run;
  const Loggers loggers;
  Snapshots snapshots = run.make(loggers);
  CHECK(snapshots.has_newest());
  int asked = 0;
  const auto take = [&](SnapshotReason reason) {
    snapshots.save(reason, {}, [&] { ++asked; });
    return run.learner.take_calls().size();
  };
  CHECK(take(SnapshotReason::end) == 0);  // nothing was done since the start
  run.state.iteration = 5;
  CHECK_FALSE(snapshots.has_newest());
  CHECK(take(SnapshotReason::period) == 1);
  CHECK(take(SnapshotReason::end) == 0);
  CHECK(take(SnapshotReason::best) == 1);
  run.state.validations.due = true;
  CHECK(take(SnapshotReason::end) == 1);
  CHECK(asked == 3);
  CHECK(run.branch.finish());
  CHECK(list_snapshots(run.snapshots()).size() == 1);

  Snapshots nowhere({nullptr, run.learner, run.hooks, loggers, run.meter}, run.state);
  run.state.iteration = 6;
  nowhere.save(SnapshotReason::end);
  CHECK(run.learner.take_calls().empty());
}

TEST_CASE("a snapshot records the training time up to itself") {
  SavingRun run;
  const Loggers loggers;
  Snapshots snapshots = run.make(loggers);
  run.meter.start(100);  // of earlier starts
  run.state.iteration = 5;
  run.state.elapsed_s = 99;  // as of the last report, before the validation that saves
  snapshots.save(SnapshotReason::best);
  CHECK(run.branch.finish());
  CHECK(run.state.elapsed_s >= 100);
  CHECK(run.state.elapsed_s <= run.meter.elapsed_s());
  const auto saved = RunState::from_json(open_snapshot(run.snapshots() / snapshot_name(5)).state_json);
  CHECK(saved.elapsed_s == run.state.elapsed_s);
}

namespace {

class NotingLogger : public Logger {
 public:
  explicit NotingLogger(std::filesystem::path snapshots) : snapshots_(std::move(snapshots)) {}
  void step(const StepEvent&, const Scalars&) override {}
  std::function<void()> wait_for_written() override {
    return [this] { saved_too_early = saved_too_early || !list_snapshots(snapshots_).empty(), ++waits; };
  }

  bool saved_too_early = false;
  int waits = 0;

 private:
  const std::filesystem::path snapshots_;
};

}  // namespace

TEST_CASE("a snapshot is there only when the lines of its iteration are written") {
  SavingRun run;
  NotingLogger logger(run.snapshots());
  const Loggers loggers{{{&logger}}};
  Snapshots snapshots = run.make(loggers);
  run.state.iteration = 5;
  snapshots.save(SnapshotReason::period);
  CHECK(run.branch.finish());
  CHECK(logger.waits == 1);
  CHECK_FALSE(logger.saved_too_early);
  CHECK(list_snapshots(run.snapshots()).size() == 1);
}

TEST_CASE("who waits for the display finds all lines that it was given before") {
  set_console_level(ConsoleLevel::quiet);
  const TempFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsFile metrics(path);
  Display display(ProgressMode::off, 300, &metrics);
  const auto lines = [&] {
    std::ifstream file(path);
    return std::count(std::istreambuf_iterator(file), {}, '\n');
  };
  for (std::uint64_t iteration = 1; iteration <= 300; ++iteration) {
    display.step({.iteration = iteration, .report = true}, {});
    if (iteration % 50 > 0) continue;
    display.validation({.iteration = iteration, .scalars = {{"loss", 1.0}}});
    display.wait_for_written()();
    CHECK(lines() == static_cast<std::ptrdiff_t>(iteration + iteration / 50));
  }
}

}  // namespace flowtrain::snapshots_test
