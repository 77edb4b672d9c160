// Train lines report the machine and the step.

#include <doctest/doctest.h>

#include "tests/program/ranks.h"
#include "tests/support/timed_fields.h"

namespace flowtrain::train_line_test {

TEST_CASE("train lines tell where an iteration's time goes, how it is spread, and what the machine gives") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto lines = metrics_of(place.path("run"), "train");
  REQUIRE(lines.size() == 12);
  bool validation = false, snapshot = false;
  for (auto& line : lines) {
    CAPTURE(line);
    double sum = 0;
    for (auto phase : {"transfer", "forward", "backward", "gradients", "optimizer"}) {
      const double time_s = line.at("time." + std::string(phase));
      CHECK(time_s > 0);
      sum += time_s;
    }
    CHECK(sum <= line.at("step_time").get<double>() * 1.01);
    CHECK(line.at("step_p50") > 0);
    CHECK(line.at("step_p50") <= line.at("step_p99"));
    CHECK(line.at("host_memory_mb") > 10);
    validation |= line.contains("time.validation");
    snapshot |= line.contains("time.snapshot");
    for (auto absent : {"time.data", "time.communication", "gpu_memory_mb", "gpu_utilisation", "mfu"})
      CHECK_FALSE(line.contains(absent));
  }
  CHECK(validation);
  CHECK(snapshot);

  // 16 x 16 RGB pixels to 32 to 6 classes, 16 rows: twice for each weight, three times for forward and backward.
  const auto model = metrics_of(place.path("run"), "model");
  REQUIRE(model.size() == 1);
  CHECK(model[0].at("flops_per_step") == 3.0 * 2 * 16 * (16 * 16 * 3 * 32 + 32 * 6));
}

TEST_CASE("the model's line is written once, and of several processes and micro-batches together") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "20"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--resume", "auto"}), 0);
  CHECK(metrics_of(place.path("run"), "model").size() == 1);
  const double one = metrics_of(place.path("run"), "model")[0].at("flops_per_step");
  REQUIRE_EXIT(train(place, 2, "two", {"--max-iter", "20", "--set", "train.accum=2"}), 0);
  CHECK(metrics_of(place.path("two"), "model").at(0).at("flops_per_step") == 2 * one);
  for (auto& line : metrics_of(place.path("two"), "train")) CHECK(line.at("time.communication") > 0);
}

}  // namespace flowtrain::train_line_test
