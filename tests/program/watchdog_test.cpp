// LibTorch's watchdogs end a process from a thread of their own.

#include <doctest/doctest.h>

#include "tests/support/temp_run.h"

namespace flowtrain::watchdog_test {

TEST_CASE("a rank that LibTorch's watchdog ends is a lost one: the job starts again, and ends as if nothing had been") {
  const std::string hook = "[[hook]]\nname = \"watchdog\"\nranks = \"all\"\nat = 25\nmarker = \"thrown\"\n";
  const TempRun place(with_plugins({"watchdog"}, tiny_config + hook));
  const Words two{"--quiet", "--distributed", "--world-size", "2", "--set", "dist.timeout=60"};
  const auto outcome = place.train(with(two, {"--run-dir", "lost", "--max-restarts", "1"}));
  CHECK_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "lost the other processes: NCCL communicator was aborted on rank 1.");
  CHECK_SAYS(outcome, "starting all ranks again after rank 1 ended with exit code 6");
  CHECK(outcome.err.find("bug in flowtrain") == std::string::npos);
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "straight"})), 0);
  CHECK(end_of(place.path("lost")) == end_of(place.path("straight")));
}

}  // namespace flowtrain::watchdog_test
