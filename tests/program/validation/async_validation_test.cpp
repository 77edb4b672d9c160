// val.mode = "async" on the whole program: training does not notice, and the metrics are those of inline
// validation.

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/program/killed.h"
#include "tests/program/picture_files.h"
#include "tests/program/ranks.h"
#include "tests/support/paths.h"

namespace flowtrain::async_validation_test {
namespace {

using nlohmann::json;

const Words async{"--set", "val.mode=async"};

std::string tiny_with(const std::string& more) { return std::string(tiny_config) + more; }

/// The lines of kind `val`, by iteration: async ones may be written after later lines of training.
std::vector<json> validations_of(const std::filesystem::path& run) {
  auto lines = metrics_of(run, "val");
  std::stable_sort(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.at("iter") < b.at("iter"); });
  return lines;
}

std::vector<json> hyper_of(const std::filesystem::path& run) {
  std::vector<json> hyper;
  for (auto& line : metrics_of(run, "train")) hyper.push_back({line.at("iter"), line.at("lr")});
  return hyper;
}

json record_of(const std::filesystem::path& run) { return json::parse(read_text(run / "result.json")); }

Words of_processes(int processes) {
  return processes == 1 ? Words() : Words{"--distributed", "--world-size", std::to_string(processes)};
}

void check_same_as_inline(const TempRun& place, const Words& settings, int processes = 1) {
  CAPTURE(processes);
  const auto run = [&](const std::string& mode) { return place.path(mode + std::to_string(processes)); };
  for (const std::string mode : {"inline", "async"})
    REQUIRE_EXIT(place.train(with(with({"--run-dir", run(mode).string(), "--set", "val.mode=" + mode}, settings),
                                  of_processes(processes))),
                 0);
  CHECK(end_of(run("async")) == end_of(run("inline")));
  CHECK(validations_of(run("async")) == validations_of(run("inline")));
  CHECK(validations_of(run("async")).size() > 2);
  CHECK(record_of(run("async")).at("best") == record_of(run("inline")).at("best"));
  CHECK(read_text(run("async") / "confusion.csv") == read_text(run("inline") / "confusion.csv"));
}

/// A plateau that fires, a validation that takes its time, and snapshots between validations.
const std::string eventful =
    "[[schedule]]\nname = \"plateau\"\npatience = 0\nmin_delta = 100\ndecay_rate = 2\n"
    "[early_stop]\npatience = 100\n[[best]]\nmetric = \"loss\"\n[[best]]\nmetric = \"accuracy\"\n";
const Words slow_validation =
    with(async, {"--set", "data.val_samples=2000", "--set", "val.every=11", "--set", "snapshot.every=8"});

void check_same_run(const std::filesystem::path& run, const std::filesystem::path& expected) {
  CHECK(end_of(run) == end_of(expected));
  CHECK(validations_of(run) == validations_of(expected));
  CHECK(hyper_of(run) == hyper_of(expected));
  for (auto rule : {"best", "best-accuracy"}) CHECK(record_of(run).at(rule) == record_of(expected).at(rule));
}

/// A run that is killed each time that it has reported one of these iterations, and then not.
void check_killed(int processes, const std::vector<int>& reached) {
  const Words words = with(slow_validation, of_processes(processes));
  const TempRun straight(tiny_with(eventful)), killed(tiny_with(eventful));
  REQUIRE_EXIT(straight.train(with({"--run-dir", "run"}, words)), 0);
  CHECK(hyper_of(straight.path("run")).front()[1] > hyper_of(straight.path("run")).back()[1]);
  const auto run = killed.path("run");
  const Words again = with({"tiny.toml", "--run-dir", run.string(), "--resume", "auto"}, words);
  for (const int iteration : reached) {
    kill_at(killed, again, run, iteration);
    wait_for_ranks_to_end(run);
  }
  REQUIRE_EXIT(run_program(again, killed.process_options()), 0);
  check_same_run(run, straight.path("run"));
}

/// Validations that take long, of iteration 20 and, inline, of the last one.
const Words long_validation = with(slow_validation, {"--set", "data.val_samples=20000", "--set", "snapshot.every=0",
                                                     "--set", "val.every=20", "--max-iter", "40"});

/// Trains until the validation of iteration 20 is under way, and sends `signal` to one of the processes.
Outcome interrupt_validation(const TempRun& place, int processes, int signal) {
  const auto run = place.path("run");
  Process process(with({"tiny.toml", "--run-dir", run.string()}, with(long_validation, of_processes(processes))),
                  place.process_options());
  REQUIRE(process.wait_for_text("\"iter\":25,", run / "metrics.jsonl"));
  ::kill(processes == 1 ? process.id() : rank_process(run.string(), processes - 1), signal);
  auto outcome = process.wait();
  CHECK(metrics_of(run, "val").empty());
  return outcome;
}

}  // namespace

TEST_CASE("async validation gives the metrics of inline validation, and training is the same bit for bit") {
  const TempRun place(tiny_with("[ema]\ndecay = 0.9\n[[val.set]]\nname = \"large\"\nval_samples = 177\n"));
  for (const int processes : {1, 2, 3})
    check_same_as_inline(place, {"--set", "val.every=7", "--set", "val.metrics=[\"accuracy\", \"f1\", \"confusion\"]"},
                         processes);
}

TEST_CASE("async validation of a part of the set at a time sees the running statistics that inline sees") {
  const TempRun place;
  for (const int processes : {1, 2})
    check_same_as_inline(place,
                         {"--set", "net.name=resnet18", "--set", "loader.batch=6", "--max-iter", "6", "--set",
                          "val.every=2", "--set", "val.batches=1"},
                         processes);
}

TEST_CASE("a step that draws where it is measured draws what it would inline, and training's draws are untouched") {
  const TempRun noisy(with_plugins({"noisy_step"}, tiny_with("[step]\nname = \"noisy_step\"\n")));
  for (const int processes : {1, 2})
    check_same_as_inline(noisy, {"--set", "val.every=11", "--set", "data.val_samples=2000"}, processes);
  const TempRun gan(read_text(test::source_path("configs/gan_shapes.toml")));
  for (const int processes : {1, 2})
    check_same_as_inline(gan,
                         {"--max-iter", "9", "--set", "val.every=3", "--set", "data.val_samples=60", "--set",
                          "data.size=16", "--set", "loader.batch=8", "--set", "run.threads=1"},
                         processes);
}

TEST_CASE("the best snapshot has the weights that were validated") {
  const TempRun place;
  const Words often = with(async, {"--set", "optim.lr=0.5", "--set", "val.every=5", "--set", "val.metrics=[]", "--set",
                                   "snapshot.keep_last=1", "--set", "snapshot.every=3", "--run-dir", "run"});
  REQUIRE_EXIT(place.train(often), 0);
  const auto best = record_of(place.path("run")).at("best");
  REQUIRE(best.at("iteration") < 60);
  const auto tested = place.run({"test", "run"});
  REQUIRE_EXIT(tested, 0);
  CHECK(json::parse(tested.out).at("loss") == best.at("value"));
  // From there a run goes on as the first one did.
  REQUIRE_EXIT(place.train(with(often, {"--iter", std::to_string(best.at("iteration").get<int>())})), 0);
  CHECK(record_of(place.path("run")).at("best") == best);
}

TEST_CASE("killed while it validates, and resumed, a run is the same: metrics, rates, best snapshots") {
  check_killed(1, {10, 15, 25, 35, 45});
}

TEST_CASE("a job of several processes that was killed while it validated goes on as if it had not been") {
  check_killed(2, {15, 25, 45});
}

TEST_CASE("SIGTERM does not wait for a validation, and the resumed run does it") {
  for (const int processes : {1, 2}) {
    CAPTURE(processes);
    const Words words = with(long_validation, of_processes(processes));
    const TempRun straight(tiny_with(eventful)), interrupted(tiny_with(eventful));
    REQUIRE_EXIT(straight.train(with({"--run-dir", "run"}, words)), 0);
    CHECK_EXIT(interrupt_validation(interrupted, processes, SIGTERM), 143);
    REQUIRE_EXIT(interrupted.train(with({"--run-dir", "run", "--resume", "auto"}, words)), 0);
    check_same_run(interrupted.path("run"), straight.path("run"));
  }
}

TEST_CASE("a rank that is killed while all validate ends the job with its name") {
  const TempRun place(tiny_with(eventful));
  const auto outcome = interrupt_validation(place, 2, SIGKILL);
  CHECK_EXIT(outcome, 6);
  CHECK_SAYS(outcome, "rank 1 was killed by SIGKILL");
}

TEST_CASE("data of one rank that a validation stops at end the job with their name") {
  const TempRun place(without_shapes());
  write_pictures(place.folder());
  place.folder().write("pictures/val/dog/4.jpg", "");
  const auto outcome = place.train(
      with(with(picture_count, with(async, of_processes(2))), {"--set", "val.every=5", "--set", "data.val.bad=stop"}));
  CHECK_EXIT(outcome, 3);
  CHECK_SAYS(outcome, "val/dog/4.jpg");
}

TEST_CASE("a mode of validation that there is not") {
  const TempRun place;
  const auto misspelled = place.train({"--set", "val.mode=beside"});
  CHECK_EXIT(misspelled, 2);
  CHECK_SAYS(misspelled, "val.mode");
}

}  // namespace flowtrain::async_validation_test
