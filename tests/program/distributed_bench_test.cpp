// flowtrain bench --distributed: what is measured, not how fast it is.

#include <doctest/doctest.h>

#include "tests/support/temp_run.h"

namespace flowtrain::distributed_bench_test {

using nlohmann::json;

TEST_CASE("two processes measure what they exchange, and their steps") {
  const TempRun place;
  const auto outcome = place.run(
      {"bench", "tiny.toml", "--distributed", "--world-size", "2", "--seconds", "0.2", "--json", "bench.json"});
  REQUIRE_EXIT(outcome, 0);
  for (auto row : {"all-reduce", "4 KiB", "64 KiB", "1 MiB", "16 MiB", "64 MiB", "without exchange",
                   "exchange overlapped with backward", "exchange after backward", "hidden by overlap",
                   "weak scaling efficiency", "2 processes, 8 rows on each"})
    CHECK_PRINTS(outcome, row);

  const auto report = json::parse(read_text(place.path("bench.json")));
  CHECK(report.at("config") == "tiny");
  CHECK(report.at("processes") == 2);
  CHECK(report.at("rows") == 8);
  REQUIRE(report.at("all_reduce").size() == 5);
  for (auto& each : report.at("all_reduce")) {
    CHECK(each.at("time_s").get<double>() > 0);
    CHECK(each.at("algorithm_mb_per_s").get<double>() > 0);
    CHECK(each.at("bus_mb_per_s") == each.at("algorithm_mb_per_s"));  // 2 (n - 1) / n is 1
  }
  const auto& step = report.at("step");
  for (auto key : {"alone_s", "overlapped_s", "serial_s", "efficiency"}) CHECK(step.at(key).get<double>() > 0);
  for (auto key : {"exchange_s", "hidden"}) CHECK(step.at(key).get<double>() >= 0);
  CHECK(step.at("hidden").get<double>() <= 1);
  CHECK(step.at("efficiency").get<double>() < 1.5);
  CHECK_FALSE(std::filesystem::exists(place.path("runs")));
}

TEST_CASE("bench refuses what train refuses, and what it cannot measure with several processes") {
  const TempRun place;
  const auto without = place.run({"bench", "tiny.toml", "--distributed"});
  CHECK_EXIT(without, 2);
  CHECK(without.err == place.train({"--distributed"}).err);
  CHECK_SAYS(without, "--world-size");

  const auto stage = place.run({"bench", "tiny.toml", "--distributed", "--world-size", "2", "--stage", "read"});
  CHECK_EXIT(stage, 2);
  CHECK_SAYS(stage, "--stage");

  // What a rank finds is told once, as in training.
  const auto few = place.run({"bench", "tiny.toml", "--distributed", "--world-size", "2", "--set", "loader.batch=1"});
  CHECK_EXIT(few, 2);
  CHECK_SAYS(few, "a batch of 1 rows for 2 processes");
  CHECK(few.err.find("a batch of 1") == few.err.rfind("a batch of 1"));
}

}  // namespace flowtrain::distributed_bench_test
