// Ranks that are slow for a while, as on a machine that does something else, or behind a link that others fill: metrics
// name them, and nobody gives them up.

#include <fstream>

#include "sampling/core/random.h"
#include "tests/program/distributed_stress/network.h"
#include "tests/program/ranks.h"
#include "tests/support/fault_points.h"
#include "tests/support/skip.h"

namespace flowtrain::slow_rank_test {
namespace {

using std::chrono::milliseconds;

constexpr int world = 3;

/// Slows a process down for a second and a half: it stands still three quarters of the time.
void pulse(int process) {
  for (int i = 0; i < 20; ++i) {
    ::kill(process, SIGSTOP);
    std::this_thread::sleep_for(milliseconds(60));
    ::kill(process, SIGCONT);
    std::this_thread::sleep_for(milliseconds(20));
  }
}

/// Gives a process a quarter of a core for a second and a half. False where this user may not.
bool throttle(int process) {
  const fs::path cpu = "/sys/fs/cgroup/cpu", group = cpu / ("flowtrain-test-" + std::to_string(::getpid()));
  const auto write = [](const fs::path& file, int number) { return bool(std::ofstream(file) << number << std::flush); };
  std::error_code failed;
  fs::create_directory(group, failed);
  if (failed || !write(group / "cpu.cfs_period_us", 40'000) || !write(group / "cpu.cfs_quota_us", 10'000)) return false;
  const bool moved = write(group / "cgroup.procs", process);
  if (moved) std::this_thread::sleep_for(milliseconds(1600));
  write(cpu / "cgroup.procs", process);
  fs::remove(group, failed);
  return moved;
}

/// The rank that the lines of metrics since the `from`th blame: of each, `rank` for `time`.
int blamed(const std::string& run, std::size_t from, const std::string& rank, const std::string& time) {
  const auto lines = metrics_of(run, "train");
  std::array<double, world> waited_for{};
  for (auto at = from; at < lines.size(); ++at) waited_for.at(lines[at].at(rank)) += lines[at].at(time).get<double>();
  return static_cast<int>(std::max_element(waited_for.begin(), waited_for.end()) - waited_for.begin());
}

}  // namespace

TEST_CASE("a rank that is slow is the one that metrics name" * doctest::test_suite("nightly alone")) {
  const TempRun place;
  const Words heavy{"--max-iter", "1000000",          "--set", "net.hidden=[256, 256]",
                    "--set",      "loader.batch=192", "--set", "snapshot.every=1000000",
                    "--set",      "val.every=0",      "--set", "dist.timeout=10",
                    "--set",      "display.every=5"};
  Process process(with(with({"tiny.toml", "--run-dir", "slow", "--distributed", "--world-size", "3"}, smooth), heavy),
                  place.process_options());
  REQUIRE(process.wait_for_text("\"train\"", place.path("slow/metrics.jsonl")));
  Stream random(11, Purpose::init, 0);
  FaultPoints points("slow ranks");
  const int trials = static_cast<int>(points.least() * times());
  int right = 0, throttled = 0;
  for (int i = 0; i < trials; ++i) {
    const int victim = static_cast<int>(random.below(world));
    const auto before = metrics_of(place.path("slow"), "train").size();
    const int process = rank_process("slow", victim);
    const bool by_quota = i % 4 == 3 && throttle(process);
    if (!by_quota) pulse(process);
    throttled += by_quota;
    const int named = blamed(place.path("slow"), before, "slowest_rank", "slowest_time");
    right += named == victim;
    if (named != victim)
      MESSAGE("rank " << named << " named for rank " << victim << (by_quota ? ", under a quota" : ""));
  }
  process.send(SIGTERM);
  CHECK_EXIT(process.wait(), 143);  // and not because a rank was given up
  MESSAGE(right << " of " << trials << " named right; " << throttled
                << " by a quota of the CPU, the others by standing still");
  CHECK(right >= trials * 95 / 100);
  points.count(static_cast<std::uint64_t>(trials));
  points.finish();
}

TEST_CASE("a rank behind a slow link is the one that metrics name" * doctest::test_suite("nightly alone")) {
  const Network network(world);
  SKIP_UNLESS(network.is_made() && network.limit(0, "8mbit"), "namespaces",
              "no network namespaces with limited links here (they need root and iproute2)");
  network.limit(0, "");
  const TempRun place;
  const Job job(place, network, world, "link",
                {"--max-iter", "1000000", "--set", "net.hidden=[256, 256]", "--set", "snapshot.every=50", "--set",
                 "val.every=0", "--set", "dist.timeout=16", "--set", "display.every=2"});
  job.wait_for_training();
  Stream random(12, Purpose::init, 0);
  FaultPoints points("slow links");
  const int trials = static_cast<int>(points.least() * times());
  int right = 0;
  for (int i = 0; i < trials; ++i) {
    const int victim = static_cast<int>(random.below(world));
    REQUIRE(network.limit(victim, "8mbit"));
    const auto before = metrics_of(place.path("link"), "train").size();
    std::this_thread::sleep_for(milliseconds(6000));
    right += blamed(place.path("link"), before + 1, "slowest_link", "link_time") == victim;
    network.limit(victim, "");
    std::this_thread::sleep_for(milliseconds(1500));  // what is still queued
  }
  job.send(0, SIGTERM);
  for (auto& end : job.wait(60)) CHECK_EXIT(end, 143);
  MESSAGE(right << " of " << trials << " named right");
  CHECK(right >= trials * 95 / 100);
  points.count(static_cast<std::uint64_t>(trials));
  points.finish();
}

}  // namespace flowtrain::slow_rank_test
