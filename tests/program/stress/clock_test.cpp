// A wall clock that jumps by years in mid-run: nothing times out, and nothing comes out differently.

#include <doctest/doctest.h>

#include <regex>
#include <set>

#include "tests/support/fault_points.h"
#include "tests/support/paths.h"
#include "tests/support/temp_run.h"

namespace flowtrain::clock_test {
namespace {

namespace fs = std::filesystem;

ProcessOptions jumping(const TempRun& place, int seed) {
  ProcessOptions process_options = place.process_options();
  process_options.environment = {{"LD_PRELOAD", test::build_path("lib/libclock_shim.so")},
                                 {"FLOWTRAIN_CLOCK_SEED", std::to_string(seed)}};
  return process_options;
}

void check_jumped(const Outcome& outcome) {
  CHECK_SAYS(outcome, "the clock jumped ");
  CHECK_MESSAGE(outcome.err.find("the clock jumped 0 times") == std::string::npos, outcome);
}

// Durations come from a clock that does not jump.
void check_durations(const fs::path& run) {
  for (auto& line : metrics_of(run)) {
    if (line.at("kind") == "snapshot") CHECK((line.at("total_s") >= 0 && line.at("total_s") < 100));
    if (line.at("kind") == "train") CHECK((line.at("data_wait") >= 0 && line.at("data_wait") <= 1));
    if (line.at("kind") == "train") CHECK((line.at("step_time") >= 0 && line.at("step_time") < 100));
  }
}

}  // namespace

TEST_CASE("jumps of the wall clock by up to ten years change nothing" * points_sampled) {
  const TempRun straight;
  REQUIRE_EXIT(straight.train(), 0);
  const auto expected = end_of(straight.path("runs/tiny"));
  FaultPoints points("runs with a jumping clock");
  for (const std::uint64_t point : points.each(20 * times())) {
    INFO(points.repeat(point));
    points.count();
    const int seed = static_cast<int>(point - 1);
    const TempRun place;
    const auto outcome = run_program({"tiny.toml", "--workers", std::to_string(1 + seed % 4), "--set",
                                      "loader.prefetch=" + std::to_string(1 + seed % 8)},
                                     jumping(place, seed));
    REQUIRE_EXIT(outcome, 0);
    check_jumped(outcome);
    check_durations(place.path("runs/tiny"));
    CHECK(end_of(place.path("runs/tiny")) == expected);
  }
  points.finish();
}

TEST_CASE("a run that ends while the wall clock jumps has its grace, and goes on as if it had not" * points_sampled) {
  const TempRun straight;
  REQUIRE_EXIT(straight.train(), 0);
  const auto expected = end_of(straight.path("runs/tiny"));
  FaultPoints points("runs that end while the clock jumps");
  for (const std::uint64_t point : points.each(6 * times())) {
    INFO(points.repeat(point));
    points.count();
    const int seed = static_cast<int>(point - 1);
    const TempRun place;
    const Words words{"tiny.toml", "--resume", "auto", "--set", "run.grace_seconds=60"};
    {
      Process process(words, jumping(place, seed));
      REQUIRE(process.wait_for_text("\"iter\":10", place.path("runs/tiny/metrics.jsonl")));
      process.send(seed % 2 ? SIGTERM : SIGINT);
      const auto outcome = process.wait();
      CHECK_MESSAGE((outcome.code == 0 || outcome.code == (seed % 2 ? 143 : 130)), outcome);
    }
    REQUIRE_EXIT(run_program(words, jumping(place, 100 + seed)), 0);
    CHECK(end_of(place.path("runs/tiny")) == expected);
  }
  points.finish();
}

TEST_CASE("no wait and no duration in the sources goes by the wall clock") {
  // moodycamel's timed waits do, in the version that Debian has.
  const std::regex wall_clock(
      "system_clock|CLOCK_REALTIME|gettimeofday|high_resolution_clock|_timed\\(|"
      "pthread_\\w*timed|[^_\\w]time\\((nullptr|NULL|0|&)");
  const std::set<std::string> allowed{"environment.cpp",  // when a run began, for people to read
                                      "wall_time.h"};     // likewise
  int files = 0;
  for (const std::string room : {"sampling", "nets", "stages", "pipeline"})
    for (auto& entry : fs::recursive_directory_iterator(fs::path(test::source_path(room)))) {
      const auto extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h" && extension != ".cu") continue;
      ++files;
      if (allowed.contains(entry.path().filename())) continue;
      CHECK_MESSAGE(!std::regex_search(read_text(entry.path()), wall_clock), entry.path().string());
    }
  CHECK(files > 100);
}

}  // namespace flowtrain::clock_test
