// The program on a disk that fails, or that outlives it: every call on the run's folder is the one that goes wrong
// once.

#include <doctest/doctest.h>

#include "tests/support/fault_points.h"
#include "tests/support/paths.h"
#include "tests/support/temp_run.h"

namespace flowtrain::disk_faults_test {
namespace {

// Three snapshots, of which one is pruned, a validation that marks the best, and little else that writes.
const Words run_arguments{"tiny.toml",
                          "--resume",
                          "auto",
                          "--max-iter",
                          "12",
                          "--set",
                          "snapshot.every=4",
                          "--set",
                          "snapshot.keep_last=2",
                          "--set",
                          "val.every=8",
                          "--set",
                          "display.every=6",
                          "--set",
                          "data.samples=64"};

Outcome run_with_fault(const TempRun& place, const std::string& kind, std::uint64_t call) {
  auto process_options = place.process_options();
  process_options.environment = {{"LD_PRELOAD", test::build_path("lib/libfault_shim.so")},
                                 {"FAULT_BELOW", std::filesystem::canonical(place.path(".")).string() + "/runs"},
                                 {"FAULT_AT", std::to_string(call)},
                                 {"FAULT", kind}};
  return run_program(run_arguments, process_options);
}

/// A start that died before it had written its configuration leaves a folder that is no run; the next one takes
/// another.
std::filesystem::path run_of(const TempRun& place) {
  const auto second = place.path("runs/tiny-2");
  return std::filesystem::exists(second) ? second : place.path("runs/tiny");
}

bool ended_well(const TempRun& place) {
  try {
    return metrics_of(run_of(place), "end").size() == 1;
  } catch (const std::exception&) {
    return false;  // no file, or a line that a fault cut short
  }
}

std::vector<std::string> leftovers(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  if (!std::filesystem::exists(folder)) return names;
  for (auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".tmp-") != std::string::npos || name.find(".trash-") != std::string::npos) names.push_back(name);
  }
  return names;
}

/// Runs with a fault at call 1, 2, 3 … of the kinds in turn, until none happens, resumes where the run did not end
/// well, and compares.
void fault_everywhere(FaultPoints points, const Words& kinds, const Words& further_kinds = {}) {
  const TempRun straight;
  REQUIRE_EXIT(straight.run(run_arguments), 0);
  const auto expected = end_of(straight.path("runs/tiny"));
  for (const std::uint64_t call : points.each()) {
    INFO(points.repeat(call));
    Words now{kinds[call % kinds.size()]};
    if (!further_kinds.empty()) now.push_back(further_kinds[call % further_kinds.size()]);
    for (auto& kind : now) {
      CAPTURE(kind);
      const TempRun place;
      const auto outcome = run_with_fault(place, kind, call);
      if (outcome.err.find("fault: ") == std::string::npos) {
        REQUIRE_EXIT(outcome, 0);
        return points.finish();
      }
      points.count();
      if (kind == "KILL")
        REQUIRE_MESSAGE(outcome.signal == SIGKILL, outcome);
      else
        CHECK_MESSAGE((outcome.code == 0 || outcome.code == 4), outcome);
      if (outcome.code != 0 || !ended_well(place)) {
        const auto resumed = place.run(run_arguments);
        REQUIRE_EXIT(resumed, 0);
        CHECK_MESSAGE(leftovers(run_of(place) / "snapshots").empty(), resumed);
      }
      CHECK(end_of(run_of(place)) == expected);
      if (kind == "KILL") CHECK_EXIT(place.run({"snapshot", "verify", run_of(place).string()}), 0);
    }
  }
  points.finish();  // one point was tried alone
}

}  // namespace

TEST_CASE("kill -9 at a call" * points_sampled) {
  fault_everywhere(FaultPoints("program killed at every call"), {"KILL"});
}

TEST_CASE("an error at a call" * points_sampled) {
  fault_everywhere(FaultPoints("program with an error at every call"), {"EIO", "ENOSPC", "EDQUOT", "EROFS"},
                   {"SHORT", "EINTR"});
}

}  // namespace flowtrain::disk_faults_test
