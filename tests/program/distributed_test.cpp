// Several processes train as one does: local ranks on loopback, with Gloo.

#include <doctest/doctest.h>

#include "tests/program/picture_files.h"
#include "tests/program/ranks.h"

namespace flowtrain {

TEST_CASE("two, three and four processes see the batches of one, and end with its parameters") {
  const Workplace place;
  const Words accumulated{"--set", "train.accum=2", "--max-iter", "30"};
  for (const Words& more : {Words{}, accumulated}) {
    const std::string name = more.empty() ? "plain-" : "accum-";
    REQUIRE_EXIT(train(place, 1, name + "1", more), 0);
    const auto one = end_of(place.path(name + "1"));
    for (int world : {2, 3, 4}) {
      CAPTURE(world);
      const std::string run = name + std::to_string(world);
      REQUIRE_EXIT(train(place, world, run, more), 0);
      CHECK(end_of(place.path(run)).order == one.order);
      CHECK(difference(place, name + "1", run) < 1e-5);
      const auto single = metrics_of(place.path(name + "1"), "val"), several = metrics_of(place.path(run), "val");
      REQUIRE(single.size() == several.size());
      for (std::size_t i = 0; i < single.size(); ++i) {
        CHECK(several[i].at("accuracy") == single[i].at("accuracy"));
        CHECK(several[i].at("loss").get<double>() == doctest::Approx(single[i].at("loss").get<double>()).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("a batch that the processes cannot share evenly, and a validation with fewer rows than processes") {
  const Workplace place;
  const Words odd{"--set", "loader.batch=7", "--set", "loader.last=pad", "--set", "data.samples=101", "--set",
                  "data.val_samples=13", "--set", "val.batch=4"};
  REQUIRE_EXIT(train(place, 1, "one", odd), 0);
  REQUIRE_EXIT(train(place, 4, "four", odd), 0);
  CHECK(end_of(place.path("four")).order == end_of(place.path("one")).order);
  CHECK(difference(place, "one", "four") < 1e-5);
  CHECK(metrics_of(place.path("four"), "val").back().at("accuracy") ==
        metrics_of(place.path("one"), "val").back().at("accuracy"));
  const auto refused = train(place, 4, "none", {"--set", "loader.batch=3"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "a batch of 3 rows for 4 processes");
}

// Parameters are not compared: in a residual net whose sums round differently (one thread or two, in one process, is
// enough) they part within a few steps.
TEST_CASE("with batch norm over all processes a residual net has the losses and the gradients of one process") {
  const Workplace place;
  const Words resnet{"--set", "net.name=resnet18", "--set", "data.size=64", "--set", "data.samples=64", "--set", "optim.lr=0.001",
                     "--max-iter", "2", "--set", "display.every=1"};
  REQUIRE_EXIT(train(place, 1, "one", resnet), 0);
  REQUIRE_EXIT(train(place, 2, "two", with(resnet, {"--set", "dist.sync_batch_norm=true"})), 0);
  REQUIRE_EXIT(train(place, 2, "apart", resnet), 0);
  const auto figure = [&](const std::string& run, std::size_t line, const char* key) {
    return metrics_of(place.path(run), "train").at(line).at(key).get<double>();
  };
  const auto apart = [&](const std::string& run, std::size_t line, const char* key) {
    return std::abs(figure(run, line, key) / figure("one", line, key) - 1);
  };
  CHECK(apart("two", 0, "loss") < 1e-6);
  CHECK(apart("two", 0, "grad_norm") < 1e-3);
  CHECK(apart("two", 1, "loss") < 1e-3);
  CHECK(apart("apart", 0, "loss") > 1e-3);
}

TEST_CASE("gradients that travel with half the bits") {
  const Workplace place;
  REQUIRE_EXIT(train(place, 1, "one"), 0);
  for (const std::string type : {"fp16", "bf16"}) {
    REQUIRE_EXIT(train(place, 2, type, {"--set", "dist.compress=" + type}), 0);
    CHECK(end_of(place.path(type)).order == end_of(place.path("one")).order);
    CHECK(difference(place, "one", type) < 0.02);
    CHECK(end_of(place.path(type)).params != end_of(place.path("one")).params);
  }
}

TEST_CASE("a run goes on with another number of processes, in the same order") {
  const Workplace place;
  REQUIRE_EXIT(train(place, 1, "one"), 0);
  REQUIRE_EXIT(train(place, 4, "some", {"--max-iter", "20"}), 0);
  REQUIRE_EXIT(train(place, 3, "some", {"--max-iter", "40", "--resume", "auto"}), 0);
  REQUIRE_EXIT(train(place, 1, "some", {"--resume", "auto"}), 0);
  CHECK(end_of(place.path("some")).order == end_of(place.path("one")).order);
  CHECK(difference(place, "one", "some") < 1e-5);
}

TEST_CASE("a batch that grows with the number of processes") {
  const Workplace place;
  const Words each{"--set", "loader.batch_per_rank=8"}, any{"--resume", "auto", "--set", "resume.world=any"};
  REQUIRE_EXIT(train(place, 1, "one", {"--set", "loader.batch=24", "--max-iter", "30"}), 0);
  REQUIRE_EXIT(train(place, 3, "some", with(each, {"--max-iter", "30"})), 0);
  CHECK(end_of(place.path("some")).order == end_of(place.path("one")).order);
  CHECK(read_text(place.path("some/config.toml")).find("\nbatch = 24") != std::string::npos);

  const auto refused = train(place, 2, "some", with(each, {"--resume", "auto"}));
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "changes that break exact resume: loader.batch");
  CHECK_SAYS(refused, "resume.world = \"any\"");
  REQUIRE_EXIT(train(place, 2, "some", with(each, any)), 0);
  CHECK(read_text(place.path("some/config.toml")).find("\nbatch = 16") != std::string::npos);

  const auto both = train(place, 2, "both", with(each, {"--set", "loader.batch=8"}));
  CHECK_EXIT(both, 2);
  CHECK_SAYS(both, "loader.batch is given too");
}

TEST_CASE("a loss that is not finite is told once, with the samples of all processes") {
  const Workplace place;
  const Words broken{"--set", "optim.lr=1e25"};
  const auto samples = [](const Outcome& outcome) {
    CHECK_EXIT(outcome, 5);
    const auto at = outcome.err.find("samples of its last batch: ");
    REQUIRE(at != std::string::npos);
    CHECK(outcome.err.find("samples of its last batch: ", at + 1) == std::string::npos);
    return outcome.err.substr(at, outcome.err.find('\n', at) - at);
  };
  CHECK(samples(train(place, 3, "three", broken)) == samples(train(place, 1, "one", broken)));
}

TEST_CASE("two runs with as many processes are equal bit by bit, dropout and a seed that was drawn included") {
  const Workplace place;
  const Words two{"--quiet", "--distributed", "--world-size", "2"};
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "a", "--set", "run.seed=random"})), 0);
  const std::string stored = read_text(place.path("a/config.toml"));
  const auto at = stored.find("\nseed = ") + 8;
  const auto seed = stored.substr(at, stored.find_first_of(" \n", at) - at);
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "b", "--seed", seed})), 0);
  CHECK(end_of(place.path("a")) == end_of(place.path("b")));
}

TEST_CASE("bad samples of all processes are in the ledger, and replaced as in one process") {
  const Workplace place(without_shapes());
  write_pictures(place.folder());
  place.folder().write("pictures/train/dog/0.jpg", "");
  place.folder().write("pictures/val/dog/4.jpg", "");
  const Words pictures = with(kPictures, {"--set", "data.max_bad=5", "--set", "val.every=5"});
  REQUIRE_EXIT(train(place, 1, "one", pictures), 0);
  const auto several = train(place, 3, "three", pictures);
  REQUIRE_EXIT(several, 0);
  CHECK(end_of(place.path("three")).order == end_of(place.path("one")).order);
  CHECK(read_text(place.path("three/bad_samples.jsonl")) == read_text(place.path("one/bad_samples.jsonl")));
  const auto told = several.err.find("bad sample ");
  CHECK(several.err.find("train/dog/0.jpg", several.err.find("train/dog/0.jpg", told) + 1) == std::string::npos);

  const auto stopped = train(place, 2, "stopped", with(kPictures, {"--set", "data.bad=stop"}));
  CHECK_EXIT(stopped, 3);
  CHECK_SAYS(stopped, ".jpg");
}

TEST_CASE("SIGTERM to one rank: all end together, with a snapshot, and the run goes on as if it had not been") {
  const Workplace place;
  const Words two{"--quiet", "--distributed", "--world-size", "2", "--max-iter", "400"};
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "straight"})), 0);
  Process process(with({"tiny.toml"}, with(two, {"--run-dir", "stopped"})), place.surroundings());
  REQUIRE(process.wait_for_text("\"snapshot\"", place.path("stopped/metrics.jsonl")));
  ::kill(rank_process("stopped", 1), SIGTERM);
  CHECK_EXIT(process.wait(), 143);
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "stopped", "--resume", "auto"})), 0);
  CHECK(end_of(place.path("stopped")) == end_of(place.path("straight")));
}

TEST_CASE("a rank that is killed ends the job with its name, or starts it again") {
  const Workplace place;
  const Words two{"--quiet", "--distributed", "--world-size", "2", "--max-iter", "400"};
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "straight"})), 0);
  for (int rank : {0, 1}) {
    CAPTURE(rank);
    const std::string run = "killed-" + std::to_string(rank);
    for (bool restarts : {false, true}) {
      const Words more{"--run-dir", run, "--resume", "auto", "--max-restarts", restarts ? "1" : "0"};
      Process process(with({"tiny.toml"}, with(two, more)), place.surroundings());
      REQUIRE(process.wait_for_text(restarts ? "\"resume\"" : "\"snapshot\"", place.path(run) / "metrics.jsonl"));
      ::kill(rank_process(run, rank), SIGKILL);
      const auto outcome = process.wait();
      CHECK_SAYS(outcome, "rank " + std::to_string(rank) + " was killed by SIGKILL");
      CHECK_EXIT(outcome, restarts ? 0 : 6);
    }
    CHECK(end_of(place.path(run)) == end_of(place.path("straight")));
  }
}

TEST_CASE("a job that starts again goes on with its own run, however it was started first") {
  const Workplace place;
  const Words two{"--quiet", "--distributed", "--world-size", "2", "--max-iter", "400",
                  "--set", "dist.max_restarts=1"};
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "straight"})), 0);
  REQUIRE_EXIT(place.train({"--quiet", "--max-iter", "10"}), 0);  // an earlier run of that name
  Process process(with({"tiny.toml"}, two), place.surroundings());
  REQUIRE(process.wait_for_text("\"snapshot\"", place.path("runs/tiny-2/metrics.jsonl")));
  ::kill(rank_process("tiny.toml", 1), SIGKILL);
  CHECK_EXIT(process.wait(), 0);
  CHECK(end_of(place.path("runs/tiny-2")) == end_of(place.path("straight")));
  CHECK_FALSE(fs::exists(place.path("runs/tiny-3")));
}

TEST_CASE("a rank that stands still is named once the time is up") {
  const Workplace place;
  const Words two{"--quiet", "--distributed", "--world-size", "2", "--max-iter", "100000", "--set", "dist.timeout=8"};
  Process process(with({"tiny.toml"}, with(two, {"--run-dir", "stands"})), place.surroundings());
  REQUIRE(process.wait_for_text("\"snapshot\"", place.path("stands/metrics.jsonl")));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // two heartbeats
  ::kill(rank_process("stands", 1), SIGSTOP);
  const auto outcome = process.wait(60);
  CHECK_EXIT(outcome, 6);
  CHECK_SAYS(outcome, "rank 1 on ");
  CHECK_SAYS(outcome, " does not answer any more, last seen at iteration ");
  CHECK(fs::exists(place.path("stands/flight-rank0.jsonl")));
}

}  // namespace flowtrain
