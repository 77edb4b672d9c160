// The promises about order and resume, on the whole program: neither workers, queue depths, kills nor signals show in
// what a run ends with.

#include <doctest/doctest.h>

#include <random>

#include "tests/program/language_model.h"

namespace flowtrain::same_results_test {
namespace {

/// Kills the run at random moments, resumes it every time until it ends by itself, and returns how often it was killed.
/// Each kill comes a random moment after an iteration was reported, so that it hits training on any machine.
int kill_until_done(const TempRun& place, const Words& settings, unsigned seed) {
  std::mt19937 random(seed);
  int kills = 0;
  for (int reached : {5, 15, 25, 35, 45, 0}) {
    Words words{"tiny.toml", "--resume", "auto"};
    words.insert(words.end(), settings.begin(), settings.end());
    Process process(words, place.process_options());
    const std::string reported = "\"iter\":" + std::to_string(reached) + ",";
    if (reached > 0 && process.wait_for_text(reported, place.path("runs/tiny/metrics.jsonl"))) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 50'000));
      process.send(SIGKILL);
    }
    const auto outcome = process.wait();
    REQUIRE_FALSE(outcome.timed_out);
    kills += outcome.signal == SIGKILL;
    if (outcome.signal != SIGKILL) REQUIRE_EXIT(outcome, 0);
  }
  return kills;
}

template <class Run = TempRun>
void check_kills(const Words& settings, unsigned seed) {
  const Run straight, killed;
  REQUIRE_EXIT(straight.train(settings), 0);
  const int kills = kill_until_done(killed, settings, seed);
  CHECK(kills > 0);
  MESSAGE("killed " << kills << " times");
  CHECK(end_of(killed.path("runs/tiny")) == end_of(straight.path("runs/tiny")));
}

/// Trains long enough for a signal to come while it does.
Words slow_run() {
  return {"tiny.toml", "--set",      "net.hidden=[768, 768]", "--max-iter", "200", "--set", "snapshot.every=0",
          "--set",     "val.every=0"};
}

void check_signal(int signal, int code) {
  const TempRun straight, interrupted;
  REQUIRE_EXIT(straight.run(slow_run()), 0);
  Process process(slow_run(), interrupted.process_options());
  REQUIRE(process.wait_for_text("\"iter\":5", interrupted.path("runs/tiny/metrics.jsonl")));
  process.send(signal);
  const auto outcome = process.wait();
  REQUIRE_EXIT(outcome, code);
  CHECK_SAYS(outcome, "interrupted after iteration");
  const auto snapshots = metrics_of(interrupted.path("runs/tiny"), "snapshot");
  REQUIRE_FALSE(snapshots.empty());
  CHECK(snapshots.back().at("iter") < 200);
  CHECK(metrics_of(interrupted.path("runs/tiny"), "end").empty());

  Words resume = slow_run();
  resume.insert(resume.end(), {"--resume", "auto"});
  REQUIRE_EXIT(interrupted.run(resume), 0);
  CHECK(end_of(interrupted.path("runs/tiny")) == end_of(straight.path("runs/tiny")));
}

Words mixing(Words words) {
  for (auto set : {"batch_augment.mixup=0.4", "batch_augment.cutmix=1", "batch_augment.prob=0.9",
                   "batch_augment.erase={prob = 0.5, value = \"random\"}",
                   "batch_augment.color={brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1, prob = 0.8}"})
    words.insert(words.end(), {"--set", set});
  return words;
}

}  // namespace

TEST_CASE("neither workers nor prefetch show in order and parameters") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "first"}), 0);
  const auto first = end_of(place.path("first"));
  CHECK(first.iteration == 60);
  int number = 0;
  for (const Words& settings : {Words{"--workers", "1"}, Words{"--workers", "4"}, Words{"--set", "loader.prefetch=1"},
                                Words{"--set", "loader.prefetch=2", "--set", "loader.readers=4"},
                                Words{"--set", "loader.prefetch=8", "--workers", "4"}}) {
    const std::string run = "run-" + std::to_string(++number);
    Words words = settings;
    words.insert(words.end(), {"--run-dir", run});
    REQUIRE_EXIT(place.train(words), 0);
    CAPTURE(settings.back());
    CHECK(end_of(place.path(run)) == first);
  }
  REQUIRE_EXIT(place.train({"--seed", "2", "--run-dir", "other-seed"}), 0);
  CHECK(end_of(place.path("other-seed")).order != first.order);
  CHECK(end_of(place.path("other-seed")).params != first.params);
}

TEST_CASE("a run that is killed again and again ends as one that never was") { check_kills({}, 1); }

TEST_CASE("mixed batches: neither workers nor prefetch show, the order is the same as without, validation is as ever") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "plain"}), 0);
  REQUIRE_EXIT(place.train(mixing({"--run-dir", "first"})), 0);
  REQUIRE_EXIT(place.train(mixing({"--run-dir", "second", "--workers", "1", "--set", "loader.prefetch=1"})), 0);
  REQUIRE_EXIT(place.train(mixing({"--run-dir", "third", "--workers", "4", "--set", "loader.prefetch=8"})), 0);
  const auto first = end_of(place.path("first"));
  CHECK(end_of(place.path("second")) == first);
  CHECK(end_of(place.path("third")) == first);
  CHECK(end_of(place.path("plain")).order == first.order);
  CHECK(end_of(place.path("plain")).params != first.params);

  // The same weights are worth the same, whatever training batches go through.
  const Words look{"test", "tiny.toml", "--snapshot", "plain/snapshots/iter-00000060"};
  const auto without = place.run(look), with = place.run(mixing(look));
  REQUIRE_EXIT(without, 0);
  CHECK(with.out == without.out);
}

TEST_CASE("a killed run with accumulated gradients and Adam's moments ends as one that never was") {
  check_kills(
      {"--set", "train.accum=2", "--set", "optim.name=adam", "--set", "optim.lr=0.002", "--set", "snapshot.every=3"},
      2);
}

TEST_CASE("a killed run that mixes, cuts and erases ends as one that never was") {
  check_kills(mixing({"--set", "train.accum=2"}), 3);
}

TEST_CASE("a killed language model with dropout ends as one that never was, also of packed lines and with Muon") {
  check_kills<LanguageRun>({}, 4);
  check_kills<LanguageRun>(
      {"--set", "data.window=0", "--set", "data.unit=line", "--set", "loader.pack=true", "--set", "field.0.max=64",
       "--set", "optim.name=muon", "--set", "optim.lr=0.02", "--set", "snapshot.every=3"},
      5);
}

TEST_CASE("SIGINT ends with a snapshot and 130, and the resumed run as if it had not been") {
  check_signal(SIGINT, 130);
}

TEST_CASE("SIGTERM does the same with 143") { check_signal(SIGTERM, 143); }

TEST_CASE("a second SIGINT ends the program at once") {
  // A clean end would wait for the iteration, which takes a day.
  const std::string hook = "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\nslow_ms = 86400000\n";
  const TempRun place(with_plugins({"every_point"}, tiny_config + hook));
  Process process({"tiny.toml"}, place.process_options());
  REQUIRE(process.wait_for_text("loss 1 ", place.path("notes.0")));
  process.send_until_ended(SIGINT);
  const auto outcome = process.wait();
  CHECK_EXIT(outcome, 130);
  CHECK_SAYS(outcome, "stopped at once by a second signal");
  CHECK(metrics_of(place.path("runs/tiny"), "snapshot").empty());
}

}  // namespace flowtrain::same_results_test
