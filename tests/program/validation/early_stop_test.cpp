// Runs that end before their last iteration because nothing is to be gained, and what they leave behind.

#include <doctest/doctest.h>

#include "tests/support/temp_run.h"

namespace flowtrain::early_stop_test {
namespace {

using nlohmann::json;

json record_of(const std::filesystem::path& run) { return json::parse(read_text(run / "result.json")); }

}  // namespace

TEST_CASE("a run that does not improve any more stops, stays so, and goes on when told to") {
  const TempRun place;
  // Nothing is ever better by 100.
  const Words rule{"--set", "early_stop.patience=2", "--set", "early_stop.min_delta=100", "--max-iter", "200"};
  const auto outcome = place.train(with({"--run-dir", "run"}, rule));
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "stopped early: accuracy has not improved in 2 validations");
  const auto end = metrics_of(place.path("run"), "end").back();
  CHECK(end.at("iter") == 60);  // validated at 20, 40 and 60
  CHECK(end.at("stopped").get<std::string>().find("early_stop.patience") != std::string::npos);
  auto record = record_of(place.path("run"));
  CHECK(record.at("ended") == "stopped");
  CHECK(record.at("iteration") == 60);
  CHECK(record.at("best").at("metric") == "accuracy");
  CHECK(std::filesystem::exists(place.path("run") / "snapshots/iter-00000060"));

  const auto again = place.train(with({"--run-dir", "run", "--resume", "auto"}, rule));
  REQUIRE_EXIT(again, 0);
  CHECK(record_of(place.path("run")).at("iteration") == 60);
  REQUIRE_EXIT(place.train(with({"--run-dir", "run", "--resume", "auto"}, {"--max-iter", "80"})), 0);
  record = record_of(place.path("run"));
  CHECK(record.at("ended") == "done");
  CHECK(record.at("iteration") == 80);
  CHECK(record.at("params_xxh64") == metrics_of(place.path("run"), "end").back().at("params_xxh64"));
}

TEST_CASE("time over all starts ends a run") {
  const TempRun place;
  const auto outcome = place.train({"--run-dir", "run", "--set", "early_stop.hours=1e-6", "--max-iter", "100000"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "hours of training are over");
  CHECK(record_of(place.path("run")).at("ended") == "stopped");
}

TEST_CASE("rules that could never fire are refused, with both places") {
  const TempRun place;
  const auto metric = place.train({"--set", "early_stop.patience=2", "--set", "early_stop.metric=ap"});
  CHECK_EXIT(metric, 2);
  CHECK_SAYS(metric, "early_stop.metric: 'ap' is not among val.metrics = [\"accuracy\"] (default)");
  const auto never = place.train({"--set", "early_stop.patience=2", "--set", "val.every=0"});
  CHECK_EXIT(never, 2);
  CHECK_SAYS(never, "early_stop.patience: counts validations, and there are none: val.every is 0 (--set)");
}

}  // namespace flowtrain::early_stop_test
