// Snapshots that no period of iterations makes due: asked for, and by the clock.

#include <doctest/doctest.h>

#include "tests/program/ranks.h"
#include "tests/program/refusals.h"
#include "tests/support/temp_run.h"

namespace flowtrain::snapshot_now_test {
namespace {

const Words long_run{"--set", "run.max_iter=1000000", "--set", "snapshot.every=0", "--set", "val.every=0"};
const Words in_run{"--run-dir", "run"};

}  // namespace

TEST_CASE("a run that trains saves a snapshot when it is asked to, and goes on") {
  const TempRun place;
  check_refused(place.run({"snapshot", "now", "run"}), 2, {"run is not the folder of a run"});
  Process run(with(with({"tiny.toml"}, long_run), in_run), place.process_options());
  REQUIRE(run.wait_for_text("iter 10/"));
  const auto asked = place.run({"snapshot", "now", "run"});
  REQUIRE_EXIT(asked, 0);
  CHECK(asked.out.starts_with("run/snapshots/iter-"));
  const auto again = place.run({"snapshot", "now", "run"});
  REQUIRE_EXIT(again, 0);
  CHECK(again.out > asked.out);
  const auto path = asked.out.substr(0, asked.out.size() - 1);
  REQUIRE_EXIT(place.run({"snapshot", "verify", path}), 0);
  run.send(SIGTERM);
  CHECK_EXIT(run.wait(), 143);
  check_refused(place.run({"snapshot", "now", "run"}), 4,
                {"run: no process trains this run", "its newest snapshot is"});

  // What went on from it is what was not stopped.
  const auto iteration = std::stoull(path.substr(path.rfind('-') + 1)), last = iteration + 20;
  const Words end{"--set", "run.max_iter=" + std::to_string(last)};
  REQUIRE_EXIT(place.train(with(with(with(long_run, in_run), {"--iter", std::to_string(iteration)}), end)), 0);
  REQUIRE_EXIT(place.train(with(with(long_run, {"--set", "snapshot.every=7"}), with(end, {"--run-dir", "straight"}))),
               0);
  CHECK(end_of(place.path("run")) == end_of(place.path("straight")));
}

TEST_CASE("several processes save one together, asked through their launcher or by the clock") {
  const TempRun place;
  const Words two{"--distributed", "--world-size", "2"};
  Process run(with(with(with({"tiny.toml"}, long_run), in_run), two), place.process_options());
  REQUIRE(run.wait_for_text("iter 10/"));
  run.send(SIGUSR2);
  REQUIRE(run.wait_for_text("snapshot run/snapshots/iter-"));
  REQUIRE_EXIT(place.run({"snapshot", "now", "run"}), 0);
  run.send(SIGTERM);
  CHECK_EXIT(run.wait(), 143);

  const Words by_clock{"tiny.toml", "--set", "snapshot.every=1 s", "--set", "run.max_iter=1000000",
                       "--run-dir", "timed"};
  Process timed(with(by_clock, two), place.process_options());
  REQUIRE(timed.wait_for_text("snapshot timed/snapshots/iter-", {}, 600, 2));
  timed.send(SIGTERM);
  CHECK_EXIT(timed.wait(), 143);
}

TEST_CASE("a period by the clock is for snapshots") {
  const TempRun place;
  check_refused(place.train({"--set", "val.every=30 min"}), 2, {"val.every", "expected a number of iterations"});
  check_refused(place.train({"--set", "snapshot.every=30 days"}), 2, {"snapshot.every", "\"30 min\""});
  const auto plan = place.run({"plan", "tiny.toml", "--set", "snapshot.every=30 min"});
  REQUIRE_EXIT(plan, 0);
  CHECK(plan.out.find("more every 30 min") != std::string::npos);
}

}  // namespace flowtrain::snapshot_now_test
