// The best snapshots and the end of a run, and a learning rate from a range test.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/support/temp_run.h"

namespace flowtrain::best_test {
namespace {

using nlohmann::json;

std::string tiny_with(const std::string& more) { return std::string(tiny_config) + more; }

std::uint64_t target(const std::filesystem::path& link) {
  const auto name = std::filesystem::read_symlink(link).filename().string();
  return std::stoull(name.substr(name.find('-') + 1));
}

/// Iteration and value of the best validation.
std::pair<std::uint64_t, double> best_of(const std::filesystem::path& run, const char* metric, bool lower_wins) {
  std::pair<std::uint64_t, double> best{0, 0};
  for (auto& line : metrics_of(run, "val")) {
    const double value = line.at(metric);
    if (best.first == 0 || (lower_wins ? value < best.second : value > best.second)) best = {line.at("iter"), value};
  }
  return best;
}

}  // namespace

TEST_CASE("several rules choose best snapshots, each with a link of its own") {
  const std::string rules =
      "[[best]]\nmetric = \"loss\"\nkeep = 2\n[[best]]\nmetric = \"accuracy\"\n[[best]]\nmetric = \"top5\"\nmode = "
      "\"min\"\n";
  const Words often{"--set", "val.every=3",       "--set", "snapshot.keep_last=1",
                    "--set", "snapshot.every=50", "--set", "val.metrics=[\"accuracy\",\"top5\"]"};
  const TempRun place(tiny_with(rules));
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole"}, often)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "halves", "--max-iter", "31"}, often)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "halves", "--resume", "auto"}, often)), 0);
  for (auto name : {"whole", "halves"}) {
    const auto run = place.path(name);
    const auto loss = best_of(run, "loss", true), accuracy = best_of(run, "accuracy", false),
               top5 = best_of(run, "top5", true);
    CHECK(target(run / "snapshots/best") == loss.first);
    CHECK(target(run / "snapshots/best-accuracy") == accuracy.first);
    CHECK(target(run / "snapshots/best-top5") == top5.first);
    const auto record = json::parse(read_text(run / "result.json"));
    CHECK(record.at("best") == json{{"metric", "loss"}, {"value", loss.second}, {"iteration", loss.first}});
    CHECK(record.at("best-accuracy").at("iteration") == accuracy.first);
    const auto checked = place.run({"snapshot", "verify", (run / "snapshots/best-accuracy").string()});
    CHECK_EXIT(checked, 0);
  }
  CHECK(end_of(place.path("halves")) == end_of(place.path("whole")));
}

TEST_CASE("training's own values may rule, and another rule begins another ranking") {
  const Words often{"--set", "val.every=\"1 epoch\"", "--set", "display.every=1"};
  const TempRun place(tiny_with("[[best]]\nmetric = \"train.loss\"\n"));
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole"}, often)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "halves", "--max-iter", "31"}, often)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "halves", "--resume", "auto"}, often)), 0);
  std::pair<std::uint64_t, double> best{0, 0};
  for (auto& line : metrics_of(place.path("whole"), "epoch"))
    if (best.first == 0 || line.at("loss") < best.second) best = {line.at("iter"), line.at("loss")};
  for (auto name : {"whole", "halves"}) {
    CHECK(json::parse(read_text(place.path(name) / "result.json")).at("best") ==
          json{{"metric", "train.loss"}, {"value", best.second}, {"iteration", best.first}});
    CHECK(target(place.path(name) / "snapshots/best") == best.first);
  }

  const TempRun other(tiny_with("[[best]]\nmetric = \"accuracy\"\n"));
  std::filesystem::copy(place.path("whole"), other.path("whole"),
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  const auto resumed =
      other.train(with({"--run-dir", "whole", "--resume", "auto", "--max-iter", "80", "--accept-changes"}, often));
  REQUIRE_EXIT(resumed, 0);
  CHECK_SAYS(resumed, "'best' was ranked by train.loss (lower is better) and is now by accuracy (higher is better)");
  CHECK(json::parse(read_text(other.path("whole") / "result.json")).at("best").at("iteration") > 60);
}

TEST_CASE("the best snapshots that are to be kept are all there, and no others") {
  const Words often{"--set", "val.every=3",      "--set", "snapshot.keep_last=1",
                    "--set", "snapshot.every=0", "--set", "val.metrics=[]"};
  for (const auto& [rule, words] : {std::pair<std::string, Words>{"[[best]]\nmetric = \"loss\"\nkeep = 3\n", {}},
                                    {"", {"--set", "snapshot.keep_best=3"}}}) {
    const std::string& more = rule;
    CAPTURE(more);
    const TempRun place(tiny_with(more));
    REQUIRE_EXIT(place.train(with(with({"--run-dir", "run"}, often), words)), 0);
    std::vector<std::pair<double, std::uint64_t>> ranking;
    for (auto& line : metrics_of(place.path("run"), "val")) ranking.emplace_back(line.at("loss"), line.at("iter"));
    REQUIRE(ranking.size() == 20);
    // Also of those that were no improvement when they were made.
    REQUIRE_FALSE(std::is_sorted(ranking.rbegin(), ranking.rend()));
    std::sort(ranking.begin(), ranking.end());
    std::set<std::uint64_t> expected{60}, found;  // the last one, too
    for (std::size_t i = 0; i < 3; ++i) expected.insert(ranking[i].second);
    for (auto& entry : std::filesystem::directory_iterator(place.path("run") / "snapshots"))
      if (!entry.is_symlink()) found.insert(std::stoull(entry.path().filename().string().substr(5)));
    CHECK(found == expected);
    CHECK(target(place.path("run") / "snapshots/best") == ranking.front().second);
    CHECK_EXIT(place.run({"snapshot", "verify", "run"}), 0);
  }
}

TEST_CASE("a run may end with its best weights") {
  // At this rate the loss of the validation gets worse after a while.
  const Words overshoot{"--set", "optim.lr=0.5", "--set", "val.every=5", "--set", "val.metrics=[]"};
  const TempRun place;
  REQUIRE_EXIT(place.train(with({"--run-dir", "last"}, overshoot)), 0);
  const auto best = best_of(place.path("last"), "loss", true).first;
  REQUIRE(best < 60);
  REQUIRE_EXIT(place.train(with({"--run-dir", "best", "--set", "snapshot.end_with_best=true"}, overshoot)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "there", "--max-iter", std::to_string(best)}, overshoot)), 0);
  CHECK(end_of(place.path("best")).params == end_of(place.path("there")).params);
  CHECK(json::parse(read_text(place.path("best") / "result.json")).at("weights_of") == best);
  // The last snapshot has the last weights: it is what a longer run goes on from.
  REQUIRE_EXIT(place.train(with({"--run-dir", "best", "--resume", "auto", "--max-iter", "70"}, overshoot)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "longer", "--max-iter", "70"}, overshoot)), 0);
  CHECK(metrics_of(place.path("best"), "end").back().at("params_xxh64") == end_of(place.path("longer")).params);
}

TEST_CASE("rules that contradict each other, or the rest") {
  const auto refused = [](const std::string& more, const Words& words, const std::string& says) {
    const auto outcome = TempRun(tiny_with(more)).train(words);
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, says);
  };
  refused("[[best]]\nmetric = \"ap\"\n", {}, "best.0.metric: 'ap' is not among val.metrics");
  refused("[[best]]\nmetric = \"loss\"\n[[best]]\nmetric = \"loss\"\n", {}, "another [[best]] has it, too");
  refused("[[best]]\nmetric = \"loss\"\n", {"--set", "snapshot.keep_best=2"},
          "snapshot.keep_best: [[best]] is given, too");
  refused("[[best]]\nmetric = \"train.noise\"\n", {}, "only you know which values of 'train.noise' are better");
  std::string silent = tiny_config;
  silent.replace(silent.find("every = 20"), 10, "every = 0");
  for (auto more : {"[[best]]\nmetric = \"loss\"\n", "[early_stop]\n"}) {
    const auto outcome = TempRun(silent + more).train({"--set", "snapshot.end_with_best=true"});
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, "no snapshot is the best without validation");
  }
  CHECK_EXIT(TempRun(tiny_with("[[best]]\nmetric = \"loss\"\n")).train({"--overfit", "16"}), 0);
}

TEST_CASE("a learning rate is found") {
  const TempRun place;
  const auto found = place.run(
      {"lr-find", "tiny.toml", "--from", "1e-4", "--to", "100", "--csv", "lr.csv", "--set", "optim.momentum=0"});
  REQUIRE_EXIT(found, 0);
  CHECK_PRINTS(found, "the loss falls fastest at ");
  CHECK_PRINTS(found, "try --set optim.lr=0.");
  CHECK_MESSAGE(found.err.find("samples in") == std::string::npos, found);  // what it trains on is not what was asked
  CHECK_FALSE(std::filesystem::exists(place.path("runs")));
  const auto csv = read_text(place.path("lr.csv"));
  CHECK(csv.starts_with("lr,loss,smooth\n0.0001,"));
  CHECK_EXIT(place.run({"lr-find", "tiny.toml", "--from", "1", "--to", "0.1"}), 2);
  const auto hopeless = place.run({"lr-find", "tiny.toml", "--from", "1e4", "--to", "1e9", "--iterations", "10"});
  REQUIRE_EXIT(hopeless, 0);
  CHECK_PRINTS(hopeless, "the loss does not fall");
}

}  // namespace flowtrain::best_test
