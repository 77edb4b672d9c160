// Ended from outside at random moments, many times: by kill -9 the run loses no more than since its last snapshot; by a
// signal that can be caught, nothing.

#include <doctest/doctest.h>

#include "sampling/random.h"
#include "tests/points.h"
#include "tests/program/workplace.h"

namespace flowtrain {
namespace {

// Snapshots all the time: most moments are within one.
const Words kRun{"tiny.toml", "--max-iter", "2000", "--set", "snapshot.every=3", "--set", "val.every=150", "--set",
                 "run.grace=10"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Starts the run, or goes on with it, and sends `signal` up to 300 ms after its first new snapshot.
Outcome end_at_random(const Workplace& place, int signal, Stream& random) {
  Process process(with(kRun, {"--resume", "auto"}), place.surroundings());
  process.wait_for_text("snapshot runs");
  std::this_thread::sleep_for(std::chrono::milliseconds(random.below(300)));
  process.send(signal);
  return process.wait(60);
}

}  // namespace

TEST_CASE("kill -9 at a hundred random moments") {
  const Workplace straight, killed;
  REQUIRE_EXIT(straight.run(kRun), 0);
  Stream random(5, Purpose::init, 0);
  int kills = 0;
  for (int round = 0; kills < 100; ++round) {
    for (bool done = false; !done;) {
      const auto outcome = end_at_random(killed, SIGKILL, random);
      done = outcome.code == 0;
      REQUIRE_MESSAGE((done || outcome.signal == SIGKILL), outcome);
      kills += !done;
    }
    CHECK(end_of(killed.path("runs/tiny")) == end_of(straight.path("runs/tiny")));
    std::filesystem::rename(killed.path("runs/tiny"), killed.path("done-" + std::to_string(round)));
  }
  tried("R5 kill -9 at random moments", kills);
}

TEST_CASE("a signal that asks for the end, a hundred times") {
  const Workplace straight, asked;
  REQUIRE_EXIT(straight.run(kRun), 0);
  Stream random(6, Purpose::init, 0);
  int ends = 0;
  for (int round = 0; ends < 100; ++round) {
    for (bool done = false; !done;) {
      const int signal = std::array{SIGTERM, SIGUSR1, SIGINT}[random.below(3)];
      const auto outcome = end_at_random(asked, signal, random);
      done = outcome.code == 0;
      REQUIRE_MESSAGE((done || outcome.code == (signal == SIGINT ? 130 : 143)), outcome);
      if (done) continue;
      ++ends;
      // The snapshot is that of the iteration it ended with: nothing was lost.
      const auto last = metrics_of(asked.path("runs/tiny"), "snapshot").back().at("iter").get<std::uint64_t>();
      CHECK_SAYS(outcome, "interrupted after iteration " + std::to_string(last));
    }
    CHECK(end_of(asked.path("runs/tiny")) == end_of(straight.path("runs/tiny")));
    std::filesystem::rename(asked.path("runs/tiny"), asked.path("done-" + std::to_string(round)));
  }
  tried("R7 signals at random moments", ends);
}

}  // namespace flowtrain
