// val.mode = "overlapped" on the whole program: training does not notice, and the figures are those of inline
// validation.

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/workplace.h"

namespace flowtrain {
namespace {

using nlohmann::json;

const Words overlapped{"--set", "val.mode=overlapped"};

std::string tiny_with(const std::string& more) { return std::string(kTinyConfig) + more; }

/// The lines of kind `val`, by iteration: overlapped ones may be written after later lines of training.
std::vector<json> validations_of(const std::filesystem::path& run) {
  auto lines = metrics_of(run, "val");
  std::stable_sort(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.at("iter") < b.at("iter"); });
  return lines;
}

std::vector<json> rates_of(const std::filesystem::path& run) {
  std::vector<json> rates;
  for (auto& line : metrics_of(run, "train")) rates.push_back({line.at("iter"), line.at("lr")});
  return rates;
}

json record_of(const std::filesystem::path& run) { return json::parse(read_text(run / "result.json")); }

void check_same_as_inline(const Workplace& place, const Words& settings) {
  REQUIRE_EXIT(place.train(with({"--run-dir", "inline"}, settings)), 0);
  REQUIRE_EXIT(place.train(with(with({"--run-dir", "overlapped"}, settings), overlapped)), 0);
  CHECK(end_of(place.path("overlapped")) == end_of(place.path("inline")));
  CHECK(validations_of(place.path("overlapped")) == validations_of(place.path("inline")));
  CHECK(validations_of(place.path("overlapped")).size() > 2);
  CHECK(record_of(place.path("overlapped")).at("best") == record_of(place.path("inline")).at("best"));
}

/// A plateau that fires, a validation that takes its time, and snapshots between validations.
const std::string eventful =
    "[[schedule]]\nname = \"plateau\"\npatience = 0\nmin_delta = 100\ndecay_rate = 2\n"
    "[early_stop]\npatience = 100\n[[best]]\nmetric = \"loss\"\n[[best]]\nmetric = \"accuracy\"\n";
const Words slow_validation =
    with(overlapped, {"--set", "data.val_samples=2000", "--set", "val.every=11", "--set", "snapshot.every=8"});

void check_same_run(const std::filesystem::path& run, const std::filesystem::path& expected) {
  CHECK(end_of(run) == end_of(expected));
  CHECK(validations_of(run) == validations_of(expected));
  CHECK(rates_of(run) == rates_of(expected));
  for (auto rule : {"best", "best-accuracy"}) CHECK(record_of(run).at(rule) == record_of(expected).at(rule));
}

}  // namespace

TEST_CASE("overlapped validation gives the figures of inline validation, and training is the same bit for bit") {
  const Workplace place(tiny_with("[ema]\ndecay = 0.9\n[[val.set]]\nname = \"large\"\nval_samples = 177\n"));
  check_same_as_inline(place, {"--set", "val.every=7", "--set", "val.metrics=[\"accuracy\", \"f1\", \"confusion\"]"});
  CHECK(read_text(place.path("overlapped") / "confusion.csv") == read_text(place.path("inline") / "confusion.csv"));
  // Part of the set at a time, and running statistics.
  const Workplace deep;
  check_same_as_inline(
      deep, {"--set", "net.name=resnet18", "--max-iter", "8", "--set", "val.every=2", "--set", "val.batches=1"});
}

TEST_CASE("the best snapshot has the weights that were validated") {
  const Workplace place;
  const Words often =
      with(overlapped, {"--set", "optim.lr=0.5", "--set", "val.every=5", "--set", "val.metrics=[]", "--set",
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

TEST_CASE("killed while it validates, and resumed, a run is the same: figures, rates, best snapshots") {
  const Workplace straight(tiny_with(eventful)), killed(tiny_with(eventful));
  REQUIRE_EXIT(straight.train(with({"--run-dir", "run"}, slow_validation)), 0);
  CHECK(rates_of(straight.path("run")).front()[1] > rates_of(straight.path("run")).back()[1]);
  int kills = 0;
  for (int reached : {10, 15, 25, 35, 45, 0}) {
    Process process(with({"tiny.toml", "--run-dir", "run", "--resume", "auto"}, slow_validation),
                    killed.surroundings());
    const auto reported = "\"iter\":" + std::to_string(reached) + ",";
    if (reached > 0 && process.wait_for_text(reported, killed.path("run") / "metrics.jsonl")) process.send(SIGKILL);
    const auto outcome = process.wait();
    kills += outcome.signal == SIGKILL;
    if (outcome.signal != SIGKILL) REQUIRE_EXIT(outcome, 0);
  }
  CHECK(kills > 0);
  check_same_run(killed.path("run"), straight.path("run"));
}

TEST_CASE("SIGTERM does not wait for a validation, and the resumed run does it") {
  const Words endless = with(slow_validation, {"--set", "data.val_samples=20000", "--set", "snapshot.every=0", "--set",
                                               "val.every=20", "--max-iter", "40"});
  const Workplace straight(tiny_with(eventful)), interrupted(tiny_with(eventful));
  REQUIRE_EXIT(straight.train(with({"--run-dir", "run"}, endless)), 0);
  Process process(with({"tiny.toml", "--run-dir", "run"}, endless), interrupted.surroundings());
  REQUIRE(process.wait_for_text("\"iter\":25,", interrupted.path("run") / "metrics.jsonl"));
  process.send(SIGTERM);
  REQUIRE_EXIT(process.wait(), 143);
  CHECK(metrics_of(interrupted.path("run"), "val").empty());
  REQUIRE_EXIT(interrupted.train(with({"--run-dir", "run", "--resume", "auto"}, endless)), 0);
  check_same_run(interrupted.path("run"), straight.path("run"));
}

TEST_CASE("overlapped validation that cannot be") {
  const Workplace place;
  const auto together = place.train(with({"--distributed", "--world-size", "2"}, overlapped));
  CHECK_EXIT(together, 2);
  CHECK_SAYS(together, "val.mode: \"overlapped\" is for one process, and 2 train together");
  const auto gan = place.train(with({"--set", "step.name=gan"}, overlapped));
  CHECK_EXIT(gan, 2);
  CHECK_SAYS(gan, "as step.name = \"gan\" (--set) may");
  const auto misspelled = place.train({"--set", "val.mode=beside"});
  CHECK_EXIT(misspelled, 2);
  CHECK_SAYS(misspelled, "val.mode");
}

}  // namespace flowtrain
