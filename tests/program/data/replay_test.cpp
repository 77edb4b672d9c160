// Replay repeats what an earlier iteration computed, and finds where a run broke.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "tests/program/idx_files.h"

namespace flowtrain::replay_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json read_json(const fs::path& path) { return json::parse(read_text(path)); }

/// The line of kind `train` of an iteration.
json trained(const fs::path& run, std::uint64_t iteration) {
  for (auto& line : metrics_of(run, "train"))
    if (line.at("iter") == iteration) return line;
  throw std::runtime_error("no line of iteration " + std::to_string(iteration));
}

/// Names and contents of all that a folder holds, but for a log's times.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) all[entry.path().string()] = read_text(entry.path());
  return all;
}

void check_same_scalars(const TempRun& place, const json& replayed, std::uint64_t iteration) {
  const auto line = trained(place.path("runs/tiny"), iteration);
  CHECK(replayed.at("loss") == line.at("loss"));
  CHECK(replayed.at("grad_norm") == line.at("grad_norm"));
}

/// 64 dark pictures of 8 x 8, but for number 37, which is white.
void write_one_bright_picture(const TempFolder& folder) {
  std::string pixels(64 * 64, '\1'), labels;
  for (char i = 0; i < 64; ++i) labels += static_cast<char>(i % 4);
  std::fill_n(pixels.begin() + 37 * 64, 64, '\xff');
  for (const std::string split : {"train", "t10k"}) {
    folder.write("idx/" + split + "-images-idx3-ubyte", idx_bytes(8, {64, 8, 8}, pixels));
    folder.write("idx/" + split + "-labels-idx1-ubyte", idx_bytes(8, {64}, labels));
  }
}

const Words blown_up{"--set", "lr.warmup={length = 6, mode = \"fix\", init_lr = 1e25}", "--set", "val.every=0"};

}  // namespace

TEST_CASE("replay computes an iteration's loss to the bit, and leaves the run as it is") {
  const TempRun place;
  const Words everything{"--set",      "train.accum=2",
                         "--set",      "ema.decay=0.9",
                         "--set",      "train.amp=bf16",
                         "--set",      "batch_augment.mixup=0.4",
                         "--set",      "batch_augment.erase.prob=0.3",
                         "--set",      "display.every=1",
                         "--set",      "snapshot.keep_last=9",
                         "--max-iter", "24"};
  REQUIRE_EXIT(place.train(everything), 0);
  const auto before = contents(place.path("runs"));
  // From the initial weights, the snapshot next to it, and one further away.
  for (const auto& [iteration, from] : {std::pair{3, 0}, {8, 7}, {14, 7}, {24, 21}}) {
    CAPTURE(iteration);
    const auto out = "replayed-" + std::to_string(iteration);
    const auto outcome =
        place.run({"replay", "runs/tiny", "--iter", std::to_string(iteration), "--loss", "--out", out});
    REQUIRE_EXIT(outcome, 0);
    CHECK_PRINTS(outcome, "iteration " + std::to_string(iteration) + ": loss ");
    const auto batch = read_json(place.path(out) / "batch.json");
    check_same_scalars(place, batch, static_cast<std::uint64_t>(iteration));
    CHECK(batch.at("from").at("iteration") == from);
    CHECK(batch.at("rows").size() == 32);
    if (from == 0) CHECK_SAYS(outcome, "from the initial weights of seed ");
  }
  const auto far = place.run({"replay", "runs/tiny", "--iter", "24", "--loss", "--out", "far", "--snapshot",
                              "runs/tiny/snapshots/iter-00000007"});
  REQUIRE_EXIT(far, 0);
  CHECK_MESSAGE(far.err.find("no snapshot") == std::string::npos, far);  // those due on the way are not tried
  check_same_scalars(place, read_json(place.path("far/batch.json")), 24);
  CHECK(contents(place.path("runs")) == before);

  // By the configuration's name the same run is found; what it did not have is told.
  const auto other =
      place.run(with(with({"replay", "tiny.toml", "--iter", "8", "--loss"}, everything), {"--set", "train.accum=1"}));
  REQUIRE_EXIT(other, 0);
  CHECK_SAYS(other, "this differs from the run: train.accum = 1 (was 2)");
}

TEST_CASE("replay tells what was drawn for each row") {
  const TempRun place;
  const auto rows_of = [&](const std::string& out, const Words& settings) {
    REQUIRE_EXIT(place.run(with({"replay", "tiny.toml", "--iter", "3", "--out", out}, settings)), 0);
    return read_json(place.path(out) / "batch.json").at("rows");
  };
  const auto plain = rows_of("plain", {"--set", "sampler.flip=0.0", "--set", "sampler.crop=none"});
  const auto flipped = rows_of("flipped", {"--set", "sampler.flip=0.5", "--set", "sampler.crop=none"});
  int mirrored = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK_FALSE(plain[i].contains("draws"));
    const auto& draws = flipped[i].at("draws");
    REQUIRE(draws.size() == 1);
    const bool is_mirrored = draws[0].at("mirrored") == 1;
    mirrored += is_mirrored;
    const auto picture = [&](const std::string& folder) {
      return read_text(place.path(folder) / plain[i].at("picture").get<std::string>());
    };
    CHECK((picture("plain") == picture("flipped")) != is_mirrored);
  }
  CHECK(mirrored > 0);
  CHECK(mirrored < 16);

  const auto more = rows_of("more", {"--set", "sampler.crop=random_resized", "--set", "sampler.brightness=0.4"});
  const auto& draws = more[0].at("draws");
  CHECK(draws[0].at("crop").size() == 4);
  CHECK(draws.back().at("augment").get<std::string>().starts_with("brightness "));
}

TEST_CASE("a replay's folder holds nothing of an earlier replay, and what is not a replay's is left alone") {
  const TempRun place;
  const auto replayed = [&](const std::string& rows, const std::string& out) {
    return place.run({"replay", "tiny.toml", "--iter", "2", "--out", out, "--set", "loader.batch=" + rows});
  };
  REQUIRE_EXIT(replayed("12", "out"), 0);
  place.folder().write("out/notes.txt", "mine");
  REQUIRE_EXIT(replayed("2", "out"), 0);
  std::vector<std::string> names;
  for (auto& entry : fs::directory_iterator(place.path("out"))) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"batch.json", "notes.txt", "row-0000.png", "row-0001.png"});

  place.folder().write("pictures/row-0000.png", "mine");
  place.folder().write("pictures/cat.png", "mine");
  const auto refused = replayed("2", "pictures");
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "--out pictures: the folder is not empty, it holds 'cat.png', which is not a replay");
  CHECK(read_text(place.path("pictures/row-0000.png")) == "mine");
}

TEST_CASE("iterations count from 1, and other numbers that must be above 0 are refused in words") {
  const TempRun place;
  const auto refused = [&](const Words& words, const std::string& text) {
    const auto outcome = place.run(words);
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, text);
    CHECK(outcome.err.size() < 200);
  };
  refused({"replay", "tiny.toml", "--iter", "0"}, "--iter: 0: iterations count from 1");
  refused({"replay", "tiny.toml", "--iter", "-3"}, "--iter: -3: iterations count from 1");
  refused({"replay", "tiny.toml", "--iter", "x"}, "--iter: x: iterations count from 1");
  refused({"tiny.toml", "--overfit", "0"}, "--overfit: 0: samples count from 1");
  refused({"pack", "tiny.toml", "--out", "p", "--shard-samples", "0"}, "--shard-samples: 0: samples count from 1");
  refused({"lr-find", "tiny.toml", "--from", "0"}, "--from: 0: must be above 0");
}

TEST_CASE("a rate that validation has lowered is the replay's, too") {
  const TempRun place(std::string(tiny_config) + "[[schedule]]\nname = \"plateau\"\npatience = 0\nmin_delta = 100\n");
  REQUIRE_EXIT(place.train({"--set", "snapshot.keep_last=9"}), 0);
  const auto run = place.path("runs/tiny");
  REQUIRE(trained(run, 50).at("lr").get<double>() < trained(run, 40).at("lr").get<double>());
  REQUIRE_EXIT(place.run({"replay", "runs/tiny", "--iter", "50", "--loss", "--out", "out", "--snapshot",
                          "runs/tiny/snapshots/iter-00000014"}),
               0);
  check_same_scalars(place, read_json(place.path("out/batch.json")), 50);
}

TEST_CASE("replay --find-nan names the iteration, the sample and the layer of a number too large for half precision") {
  const TempRun place(idx_config);
  write_one_bright_picture(place.folder());
  const auto outcome =
      place.train({"--set", "train.amp=fp16", "--set", "sampler.mean=[0.0]", "--set", "sampler.stddev=[1e-5]", "--set",
                   "train.accum=2", "--set", "loader.batch=8", "--set", "snapshot.every=1"});
  REQUIRE_EXIT(outcome, 5);
  CHECK_SAYS(outcome, "runs/tiny --find-nan`");
  const auto found = place.run({"replay", "runs/tiny", "--find-nan", "--out", "out"});
  REQUIRE_EXIT(found, 0);
  const auto report = read_json(place.path("out/nonfinite.json"));
  CHECK_SAYS(outcome, "at iteration " + report.at("iteration").dump());
  CHECK(report.at("from").get<int>() == report.at("iteration").get<int>() - 1);
  CHECK(report.at("phase") == "net");
  CHECK(report.at("layer") == "layers.0");
  CHECK(report.at("after_layer") == false);
  CHECK(report.at("made").at("inf") == 64);
  REQUIRE(report.at("samples").size() == 1);
  const auto& sample = report.at("samples").front();
  CHECK(sample.at("id") == 37);
  const auto rows = read_json(place.path("out/batch.json")).at("rows");
  REQUIRE(rows.size() == 16);
  CHECK(rows.at(sample.at("row").get<std::size_t>()).at("position") == sample.at("position"));
  CHECK(rows.at(sample.at("row").get<std::size_t>()).at("source") == sample.at("source"));
  for (const std::string text : {"the loss is nan", "of layers.0, in the net", "id 37"}) CHECK_PRINTS(found, text);
}

TEST_CASE("replay --find-nan finds the first failure of a run that left several out, and of one that stopped") {
  for (const bool skips : {false, true}) {
    CAPTURE(skips);
    const TempRun place;
    const auto outcome = place.train(with(blown_up, skips ? Words{"--set", "train.nonfinite=skip", "--set",
                                                                  "train.max_nonfinite=4", "--set", "snapshot.every=1"}
                                                          : Words{}));
    REQUIRE_EXIT(outcome, 5);
    const auto found = place.run({"replay", "runs/tiny", "--find-nan", "--out", "out"});
    REQUIRE_EXIT(found, 0);
    const auto report = read_json(place.path("out/nonfinite.json"));
    if (skips)
      CHECK(report.at("iteration") == metrics_of(place.path("runs/tiny"), "nonfinite").front().at("iter"));
    else
      CHECK_SAYS(outcome, "at iteration " + report.at("iteration").dump());
    CHECK_FALSE(report.at("phase").get<std::string>().empty());
    CHECK(report.at("layer").get<std::string>().starts_with("layers."));
    CHECK(report.at("largest_parameter").get<double>() > 1e6);
    if (!skips) CHECK_PRINTS(found, "no single row is to blame");
  }
}

TEST_CASE("a sound run has nothing to find, and contradictions are told") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--max-iter", "20"}), 0);
  const auto sound = place.run({"replay", "runs/tiny", "--find-nan"});
  REQUIRE_EXIT(sound, 0);
  CHECK_PRINTS(sound, "iterations 15 to 20 are finite");
  CHECK_FALSE(fs::exists(place.path("replay-tiny-20")));

  const auto refused = [&](const Words& more, const std::string& text) {
    const auto outcome = place.run(with({"replay", "runs/tiny"}, more));
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, text);
  };
  refused({"--loss"}, "--iter is required");
  refused({"--loss", "--iter", "21"}, "the run ends at iteration 20");
  refused({"--iter", "3", "--snapshot", "runs/tiny/snapshots/iter-00000007"},
          "only --loss and --find-nan train from a snapshot");
  refused({"--iter", "7", "--loss", "--snapshot", "runs/tiny/snapshots/iter-00000007"}, "which is not before 7");
  refused({"--iter", "7", "--loss", "--find-nan"}, "--loss");
}

TEST_CASE("going back to a snapshot is not repeated, and told") {
  const TempRun place;
  REQUIRE_EXIT(place.train(with(blown_up, {"--set", "train.nonfinite=rollback", "--set", "train.rollback_lr=0.9",
                                           "--set", "snapshot.every=9", "--set", "snapshot.keep_last=99"})),
               0);
  const auto outcome =
      place.run({"replay", "runs/tiny", "--iter", "9", "--loss", "--snapshot", "runs/tiny/snapshots/iter-00000000"});
  CHECK_EXIT(outcome, 2);
  CHECK_SAYS(outcome, "which cannot be repeated");
  const auto found = place.run({"replay", "runs/tiny", "--find-nan"});
  REQUIRE_EXIT(found, 0);
  const auto first = metrics_of(place.path("runs/tiny"), "nonfinite").front().at("iter").dump();
  CHECK_PRINTS(found, "iteration " + first + ": ");
}

}  // namespace flowtrain::replay_test
