// A start chooses the run's folder, and the snapshot to continue from.

#include <doctest/doctest.h>

#include "tests/support/temp_run.h"

namespace flowtrain::start_test {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& folder, std::uint64_t iteration) {
  char name[32];
  std::snprintf(name, sizeof name, "iter-%08llu", static_cast<unsigned long long>(iteration));
  return fs::exists(folder / "snapshots" / name / "manifest.json");
}

}  // namespace

TEST_CASE("a second start keeps the first run and says where it writes and how to go on") {
  const TempRun place;
  REQUIRE_EXIT(place.train(), 0);
  const auto before = read_text(place.path("runs/tiny/metrics.jsonl"));
  const auto second = place.train();
  REQUIRE_EXIT(second, 0);
  CHECK_SAYS(second, "runs/tiny-2");
  CHECK_SAYS(second, "--resume auto");
  CHECK(read_text(place.path("runs/tiny/metrics.jsonl")) == before);
  CHECK(end_of(place.path("runs/tiny-2")) == end_of(place.path("runs/tiny")));
  for (auto name : {"config.toml", "env.json", "train.log"}) CHECK(fs::exists(place.path("runs/tiny") / name));
}

TEST_CASE("--run-dir that already holds a run is refused with the choices") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "here", "--max-iter", "3"}), 0);
  const auto again = place.train({"--run-dir", "here"});
  CHECK_EXIT(again, 2);
  for (auto text : {"here", "already holds a run", "--resume auto", "--iter N", "another --run-dir"})
    CHECK_SAYS(again, text);
}

TEST_CASE("--iter goes on exactly from that snapshot") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--set", "snapshot.keep_last=100"}), 0);
  const fs::path run = place.path("runs/tiny");
  const auto straight = end_of(run);

  SUBCASE("one that is there") {
    const auto resumed = place.train({"--set", "snapshot.keep_last=100", "--iter", "28"});
    REQUIRE_EXIT(resumed, 0);
    CHECK_SAYS(resumed, "going on after iteration 28");
    CHECK(end_of(run) == straight);
    const auto lines = metrics_of(run);
    const auto mark = std::find_if(lines.begin(), lines.end(), [](auto& line) { return line.at("kind") == "resume"; });
    REQUIRE(mark != lines.end());
    CHECK(mark->at("iter") == 28);
    for (auto line = lines.begin(); line != mark; ++line) CHECK(line->at("iter") <= 28);
    const auto train = metrics_of(run, "train");
    REQUIRE(train.size() == 12);
    for (std::size_t i = 0; i < train.size(); ++i) CHECK(train[i].at("iter") == 5 * (i + 1));
  }
  SUBCASE("one that is not") {
    const auto missing = place.train({"--set", "snapshot.keep_last=100", "--iter", "27"});
    CHECK_EXIT(missing, 4);
    for (auto text : {"27", "21", "28", "--max-iter"}) CHECK_SAYS(missing, text);
    CHECK(end_of(run) == straight);
  }
}

TEST_CASE("--iter without any run says how to start one") {
  const TempRun place;
  const auto outcome = place.train({"--iter", "5"});
  CHECK_EXIT(outcome, 4);
  for (auto text : {"--iter 5", "'tiny'", "--max-iter"}) CHECK_SAYS(outcome, text);
  CHECK_FALSE(fs::exists(place.path("runs/tiny")));
}

TEST_CASE("--resume auto without a run starts at 0 and says so") {
  const TempRun place;
  const auto outcome = place.train({"--resume", "auto", "--max-iter", "3"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "starting at iteration 0");
  CHECK(end_of(place.path("runs/tiny")).iteration == 3);
}

TEST_CASE("changes that break exact resume need --accept-changes") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--max-iter", "10"}), 0);
  const auto refused = place.train({"--resume", "auto", "--max-iter", "12", "--set", "optim.lr=0.01"});
  CHECK_EXIT(refused, 2);
  for (auto text : {"optim.lr", "--accept-changes", "0.05"}) CHECK_SAYS(refused, text);
  CHECK(end_of(place.path("runs/tiny")).iteration == 10);

  const auto accepted =
      place.train({"--resume", "auto", "--max-iter", "12", "--set", "optim.lr=0.01", "--accept-changes"});
  CHECK_EXIT(accepted, 0);
  CHECK(end_of(place.path("runs/tiny")).iteration == 12);
}

TEST_CASE("a run whose schedule goes by its end is prolonged only where that is accepted, or with an end of its own") {
  const std::string cosine = std::string(tiny_config) + "[[schedule]]\nname = \"cosine\"\n";
  const TempRun place(cosine);
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "14"}), 0);
  const auto refused = place.train({"--run-dir", "run", "--resume", "auto", "--max-iter", "21"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "schedule.0.end of cosine = 21, the run's (was 14, the run's)");
  CHECK_SAYS(refused, "changes that break exact resume: schedule.0.end of cosine");
  CHECK_SAYS(refused, "--accept-changes");
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--resume", "auto", "--max-iter", "21", "--set", "schedule.0.end=14"}),
               0);
  CHECK_EXIT(place.train({"--run-dir", "run", "--iter", "14", "--max-iter", "28", "--accept-changes"}), 0);
  CHECK_EXIT(place.train({"--run-dir", "run", "--resume", "auto", "--max-iter", "28"}), 0);
  // Others go on as long as one likes.
  const TempRun plain;
  REQUIRE_EXIT(plain.train({"--run-dir", "run", "--max-iter", "7", "--set", "lr.stepsize=5"}), 0);
  CHECK_EXIT(plain.train({"--run-dir", "run", "--resume", "auto", "--max-iter", "14", "--set", "lr.stepsize=5"}), 0);
}

TEST_CASE("a snapshot without the optimizer's state is for tests, and goes on only where that is accepted") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--max-iter", "10", "--set", "snapshot.save=[\"params\"]"}), 0);
  CHECK_EXIT(place.run({"test", "tiny.toml"}), 0);
  CHECK_EXIT(place.run({"snapshot", "verify", "runs/tiny"}), 0);
  const auto refused = place.train({"--resume", "auto", "--max-iter", "12"});
  CHECK_EXIT(refused, 4);
  for (auto text : {"made without: optim, schedule, random", "--accept-changes"}) CHECK_SAYS(refused, text);
  CHECK_EXIT(place.train({"--resume", "auto", "--max-iter", "12", "--accept-changes"}), 0);
  CHECK(end_of(place.path("runs/tiny")).iteration == 12);
  CHECK_EXIT(place.train({"--resume", "auto", "--max-iter", "14"}), 0);  // the new ones are whole again

  const auto nothing = place.train({"--set", "snapshot.save=[\"optim\"]"});
  CHECK_EXIT(nothing, 2);
  CHECK_SAYS(nothing, "snapshot.save: \"params\" must be among them");
}

TEST_CASE("a run goes on from its folder alone") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "straight"}), 0);
  REQUIRE_EXIT(place.train({"--max-iter", "30"}), 0);
  fs::remove(place.path("tiny.toml"));
  REQUIRE_EXIT(place.run({"runs/tiny", "--max-iter", "60"}), 0);
  CHECK(end_of(place.path("runs/tiny")) == end_of(place.path("straight")));

  const auto done = place.run({"runs/tiny"});
  CHECK_EXIT(done, 0);
  CHECK_SAYS(done, "no iteration is left to do");
}

TEST_CASE("a run goes on from a snapshot's folder, or as run.resume says") {
  const TempRun place;
  const Words all{"--set", "snapshot.keep_last=100"};
  REQUIRE_EXIT(place.train(with(all, {"--run-dir", "straight"})), 0);
  const auto straight = end_of(place.path("straight"));
  REQUIRE_EXIT(place.train(all), 0);

  const auto path = place.train(with(all, {"--resume", "runs/tiny/snapshots/iter-00000028"}));
  REQUIRE_EXIT(path, 0);
  CHECK_SAYS(path, "going on after iteration 28");
  CHECK(end_of(place.path("runs/tiny")) == straight);
  CHECK_FALSE(fs::exists(place.path("runs/tiny-2")));

  // As a key: a snapshot's folder, the run's, the newest run of the name, and none.
  using Case = std::pair<std::string, std::string>;
  for (const auto& [resume, from] :
       {Case{"runs/tiny/snapshots/iter-00000035", "35"}, {"runs/tiny", "60"}, {"auto", "60"}}) {
    CAPTURE(resume);
    const auto outcome = place.train(with(all, {"--set", "run.resume=" + resume, "--max-iter", "61"}));
    REQUIRE_EXIT(outcome, 0);
    CHECK_SAYS(outcome, "going on after iteration " + from);
    CHECK(end_of(place.path("runs/tiny")).iteration == 61);
    REQUIRE_EXIT(place.train(with(all, {"--iter", "56", "--max-iter", "60"})), 0);
    CHECK(end_of(place.path("runs/tiny")) == straight);
  }
  CHECK_FALSE(fs::exists(place.path("runs/tiny-2")));
  REQUIRE_EXIT(place.train({"--set", "run.resume=none", "--max-iter", "3"}), 0);
  CHECK(end_of(place.path("runs/tiny-2")).iteration == 3);

  const auto nowhere = place.train({"--resume", "runs/tiny/snapshots/iter-00000001"});
  CHECK_EXIT(nowhere, 4);
  CHECK_SAYS(nowhere, "neither a run's folder nor a snapshot");
}

TEST_CASE("a folder that is no run, and a resume from nowhere, are named") {
  const TempRun place;
  fs::create_directory(place.path("empty"));
  const auto folder = place.run({"empty"});
  CHECK_EXIT(folder, 2);
  CHECK_SAYS(folder, "'empty' is a folder without config.toml");
  const auto resume = place.train({"--resume", "nowhere"});
  CHECK_EXIT(resume, 4);
  CHECK_SAYS(resume, "--resume nowhere");
}

TEST_CASE("--initialize saves iteration 0, from which training goes on") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "straight"}), 0);
  REQUIRE_EXIT(place.train({"--initialize"}), 0);
  CHECK(holds(place.path("runs/tiny"), 0));
  REQUIRE_EXIT(place.train({"--iter", "0"}), 0);
  CHECK(end_of(place.path("runs/tiny")) == end_of(place.path("straight")));
}

TEST_CASE("only one trainer writes to a run") {
  const TempRun place;
  Process first({"tiny.toml", "--max-iter", "100000000", "--set", "val.every=0", "--set", "snapshot.every=0"},
                place.process_options());
  REQUIRE(first.wait_for_text("iterations 1 to"));
  const auto second = place.train({"--resume", "auto"});
  CHECK_EXIT(second, 4);
  CHECK_SAYS(second, "is being written by process");
  CHECK_SAYS(second, "--run-dir");
  first.send(SIGINT);
  CHECK_EXIT(first.wait(), 130);
}

TEST_CASE("a fast run tries all parts and leaves nothing behind") {
  const TempRun place;
  const auto outcome = place.train({"--fast-dev-run", "--set", "early_stop.patience=1"});
  REQUIRE_EXIT(outcome, 0);
  for (auto text : {"iter 1/3", "iter 3/3", "validation at iteration 3"}) CHECK_SAYS(outcome, text);
  CHECK_FALSE(fs::exists(place.path("runs")));
  CHECK_EXIT(place.train({"--fast-dev-run", "--set", "net.pretrain=nowhere.pth"}), 2);
}

TEST_CASE("a net learns a few samples by heart") {
  const TempRun place;
  const Words few{"--overfit", "16",    "--max-iter",    "150",   "--run-dir",
                  "run",       "--set", "net.dropout=0", "--set", "sampler.flip=0"};
  REQUIRE_EXIT(place.train(few), 0);
  CHECK(metrics_of(place.path("run"), "train").back().at("loss") < 0.1);
  CHECK(metrics_of(place.path("run"), "val").empty());
  const auto many = place.train({"--overfit", "301"});
  CHECK_EXIT(many, 3);
  CHECK_SAYS(many, "order.first: 301 is more than the 300 records that exist");
}

TEST_CASE("a snapshot of another net is refused, with the tensors that it lacks and has more") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--max-iter", "10"}), 0);
  const auto refused = place.train({"--resume", "auto", "--accept-changes", "--set", "net.hidden=[32, 16]"});
  CHECK_EXIT(refused, 4);
  CHECK_SAYS(refused,
             "the snapshot's model does not fit: it lacks 2 tensors (layers.2.bias, layers.2.weight), and has 0 "
             "tensors that this run does not have");
}

}  // namespace flowtrain::start_test
