#pragma once
// Runs that are killed and resumed.

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/temp_run.h"

namespace flowtrain {

/// Starts or resumes a run by these words, and kills it once `run` has reported the iteration.
inline void kill_at(const TempRun& place, const Words& words, const std::filesystem::path& run, int iteration) {
  Process process(words, place.process_options());
  REQUIRE(process.wait_for_text("\"iter\":" + std::to_string(iteration) + ",", run / "metrics.jsonl"));
  process.send(SIGKILL);
  CHECK(process.wait().signal == SIGKILL);
}

/// How a run ends that is killed at these iterations, and resumed.
inline End end_of_killed(const TempRun& place, const Words& words, const std::vector<int>& reached) {
  const auto run = place.path("killed");
  const Words again = with({"tiny.toml", "--run-dir", run.string(), "--resume", "auto"}, words);
  for (const int iteration : reached) kill_at(place, again, run, iteration);
  REQUIRE_EXIT(run_program(again, place.process_options()), 0);
  return end_of(run);
}

}  // namespace flowtrain
