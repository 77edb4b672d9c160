// Ranks that are slow for a while, as on a machine that does something else: metrics name them, and nobody gives them up.

#include "sampling/random.h"
#include "tests/points.h"
#include "tests/program/ranks.h"

namespace flowtrain {
namespace {

using std::chrono::milliseconds;

constexpr int kWorld = 3;

/// Slows a process down for a second and a half: it stands still three quarters of the time.
void pulse(int process) {
  for (int i = 0; i < 20; ++i) {
    ::kill(process, SIGSTOP);
    std::this_thread::sleep_for(milliseconds(60));
    ::kill(process, SIGCONT);
    std::this_thread::sleep_for(milliseconds(20));
  }
}

}  // namespace

TEST_CASE("a rank that is slow is the one that metrics name") {
  const Workplace place;
  const Words heavy{"--max-iter", "1000000", "--set", "net.hidden=[256, 256]", "--set", "loader.batch=192",
                    "--set", "snapshot.every=1000000", "--set", "val.every=0", "--set", "dist.timeout=10",
                    "--set", "display.every=5"};
  Process process(with(with({"tiny.toml", "--run-dir", "slow", "--distributed", "--world-size", "3"}, kSmooth), heavy),
                  place.surroundings());
  REQUIRE(process.wait_for_text("\"train\"", place.path("slow/metrics.jsonl")));
  Stream random(11, Purpose::init, 0);
  const int trials = static_cast<int>(40 * times());
  int right = 0;
  for (int i = 0; i < trials; ++i) {
    const int victim = static_cast<int>(random.below(kWorld));
    const auto before = metrics_of(place.path("slow"), "train").size();
    pulse(rank_process("slow", victim));
    const auto lines = metrics_of(place.path("slow"), "train");
    std::array<double, kWorld> waited_for{};
    for (auto at = before; at < lines.size(); ++at)
      waited_for.at(lines[at].at("slowest_rank")) += lines[at].at("slowest_time").get<double>();
    right += std::max_element(waited_for.begin(), waited_for.end()) - waited_for.begin() == victim;
  }
  process.send(SIGTERM);
  CHECK_EXIT(process.wait(), 143);  // and not because a rank was given up
  MESSAGE(right << " of " << trials << " named right");
  CHECK(right >= trials * 95 / 100);
  tried("R11 slow ranks", static_cast<std::uint64_t>(trials));
}

}  // namespace flowtrain
