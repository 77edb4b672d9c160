// A job whose ranks are killed over and over, and started again each time.

#include "sampling/core/random.h"
#include "tests/program/ranks.h"
#include "tests/support/fault_points.h"

namespace flowtrain::restarts_test {

TEST_CASE("ranks are killed again and again: each death is told, and the end is as if there had been none" *
          points_sampled) {
  const TempRun place;
  Stream random(12, Purpose::init, 0);
  FaultPoints points("ranks killed, and started again");  // of one job, so none can be repeated alone
  const int kills = static_cast<int>(points.least() * times());
  const Words two{"--quiet", "--distributed", "--world-size", "2",     "--max-iter",
                  "1000000", "--run-dir",     "killed",       "--set", "snapshot.every=20"};
  Process process(with(with({"tiny.toml"}, two), {"--max-restarts", std::to_string(kills)}), place.process_options());
  REQUIRE(process.wait_for_text("\"snapshot\"", place.path("killed/metrics.jsonl")));
  std::vector<std::string> expected;
  for (int i = 0; i < kills; ++i) {
    const int victim = static_cast<int>(random.below(2));
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(300)));
    ::kill(rank_process("killed", victim), SIGKILL);
    expected.push_back("starting all ranks again after rank " + std::to_string(victim) +
                       " was killed by SIGKILL (restart " + std::to_string(i + 1) + " of ");
    REQUIRE(process.wait_for_text(expected.back()));
    const auto resumed = static_cast<std::size_t>(i + 1);
    for (int tries = 0; metrics_of(place.path("killed"), "resume").size() < resumed; ++tries) {
      REQUIRE(tries < 12'000);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  process.send(SIGTERM);
  const auto outcome = process.wait();
  CHECK_EXIT(outcome, 143);
  for (auto& line : expected) CHECK_SAYS(outcome, line);
  const Words as_far{"--quiet", "--distributed", "--world-size",
                     "2",       "--max-iter",    metrics_of(place.path("killed"), "snapshot").back().at("iter").dump()};
  REQUIRE_EXIT(place.train(with(as_far, {"--run-dir", "killed", "--resume", "auto"})), 0);
  REQUIRE_EXIT(place.train(with(as_far, {"--run-dir", "straight", "--set", "snapshot.every=20"})), 0);
  CHECK(end_of(place.path("killed")) == end_of(place.path("straight")));
  points.count(static_cast<std::uint64_t>(kills));
  points.finish();
}

}  // namespace flowtrain::restarts_test
