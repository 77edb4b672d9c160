// A detection net from training to boxes, through the command line.

#include <doctest/doctest.h>

#include "tests/program/detector.h"
#include "tests/support/workplace.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("a detector trains, and its test writes boxes, figures and pictures") {
  const Workplace place(kDetector);
  REQUIRE_EXIT(place.train(), 0);
  const auto losses = metrics_of(place.path("runs/detector"), "train");
  REQUIRE(losses.size() == 4);
  CHECK(losses.back().at("loss").get<double>() < losses.front().at("loss").get<double>());
  double parts = 0;
  for (const char* part : {"focal", "pull", "push", "off"})
    parts += losses[0].at(std::string("loss.") + part).get<double>();
  CHECK(parts == doctest::Approx(losses[0].at("loss").get<double>()).epsilon(1e-5));
  CHECK(losses[0].at("loss.untagged") == 0);

  const auto outcome = place.run({"test", "tiny.toml", "--iter", "4", "--pictures", "2"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "AP50");
  const auto line = nlohmann::json::parse(outcome.out);
  for (const char* key : {"ap", "ap50", "aps", "ar100", "voc_map"}) CHECK(line.contains(key));
  const fs::path folder = place.path("runs/detector/test/iter-00000004");
  const auto results = nlohmann::json::parse(read_text(folder / "results.json"));
  REQUIRE(results.is_array());
  for (auto& found : results) {
    CHECK(found.at("bbox").size() == 4);
    CHECK(found.at("image_id").get<int>() < 6);
  }
  CHECK(read_text(folder / "picture-1.png").starts_with("\x89PNG"));
  CHECK_FALSE(fs::exists(folder / "picture-2.png"));
}

TEST_CASE("a detector that is resumed ends as one that ran through") {
  const Workplace place(kDetector);
  REQUIRE_EXIT(place.train({"--run-dir", "whole"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "parts", "--max-iter", "2"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "parts", "--resume", "auto"}), 0);
  CHECK(end_of(place.path("parts")) == end_of(place.path("whole")));
}

TEST_CASE("validation finds objects: the figures are those of the test, and the best snapshot is the best of them") {
  const Workplace place(kDetector);
  const Words asked{"--set", "val.metrics=[\"ap50\", \"loss\", \"ap\", \"voc_map\"]",
                    "--set", "val.every=1",
                    "--set", "snapshot.every=1",
                    "--set", "snapshot.keep_last=4",
                    "--set", "detect.ae_threshold=100.0"};
  for (const std::string run : {"one", "two"}) {
    Words words = with(asked, {"--run-dir", run});
    if (run == "two") words = with(words, {"--distributed", "--world-size", "2"});
    const auto trained = place.train(words);
    REQUIRE_EXIT(trained, 0);
    CHECK_SAYS(trained, "voc_map");
    const auto lines = metrics_of(place.path(run), "val");
    REQUIRE(lines.size() == 4);
    double best = -1;
    int best_at = 0;
    for (auto& line : lines) {
      CAPTURE(line);
      const auto tested = place.run({"test", run, "--iter", std::to_string(line.at("iter").get<int>())});
      REQUIRE_EXIT(tested, 0);
      const auto expected = nlohmann::json::parse(tested.out);
      for (const char* key : {"ap", "ap50", "voc_map"}) CHECK(line.at(key) == expected.at(key));
      if (run == "one") CHECK(line.at("loss") == expected.at("loss"));  // focal loss weighs a share by its objects
      if (line.at("ap50") > best) best = line.at("ap50"), best_at = line.at("iter");
    }
    const auto newest_best = fs::canonical(place.path(run) / "snapshots/best").filename().string();
    CHECK(newest_best == std::string("iter-0000000").append(std::to_string(best_at)));
  }
}

TEST_CASE("a validation of a part of the pictures measures that part") {
  const Workplace place(kDetector);
  const Words asked{"--set", "val.metrics=[\"ap\"]", "--set", "val.batches=1", "--set", "val.batch=2"};
  REQUIRE_EXIT(place.train(asked), 0);
  CHECK(metrics_of(place.path("runs/detector"), "val").size() == 2);
}

TEST_CASE("figures of objects where none can be found") {
  const Workplace place(kDetector), classifier;
  const auto unknown = place.train({"--set", "val.metrics=[\"ap51\"]"});
  CHECK_EXIT(unknown, 2);
  CHECK_SAYS(unknown, "unknown metric 'ap51'; known: accuracy, ");
  CHECK_SAYS(unknown, "topN, ap, ap50");
  const auto other = classifier.train({"--set", "val.metrics=[\"ap\"]"});
  CHECK_EXIT(other, 2);
  CHECK_SAYS(other, "'ap' is a figure of nets that find objects");
  const auto classes = place.train({"--set", "val.metrics=[\"ap\"]", "--set", "data.train.classes=4"});
  CHECK_EXIT(classes, 3);
  CHECK_SAYS(classes, "its classes are not those of the training data: training does not know the classes ");
}

TEST_CASE("detectors that do not fit their data or their sizes") {
  const Workplace place(kDetector);
  const auto sides = place.train({"--set", "sampler.input_size=[61, 57]"});
  CHECK_EXIT(sides, 2);
  CHECK_SAYS(sides, "expected sides that are multiples of 8");
  const auto metric = place.train({"--set", "val.metrics=[\"accuracy\"]"});
  CHECK_EXIT(metric, 2);
  const auto maps = place.train({"--set", "sampler.output_size=[8, 8]"});
  CHECK_EXIT(maps, 2);
}

}  // namespace flowtrain
