#pragma once
// Runs that are killed and resumed.

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/temp_run.h"

namespace flowtrain {

/// How a run ends that is killed at these iterations, and resumed.
inline End end_of_killed(const TempRun& place, const Words& words, const std::vector<int>& reached) {
  const auto run = place.path("killed");
  const Words again = with({"tiny.toml", "--run-dir", run.string(), "--resume", "auto"}, words);
  for (const int iteration : reached) {
    Process process(again, place.process_options());
    REQUIRE(process.wait_for_text("\"iter\":" + std::to_string(iteration) + ",", run / "metrics.jsonl"));
    process.send(SIGKILL);
    CHECK(process.wait().signal == SIGKILL);
  }
  REQUIRE_EXIT(run_program(again, place.process_options()), 0);
  return end_of(run);
}

}  // namespace flowtrain
