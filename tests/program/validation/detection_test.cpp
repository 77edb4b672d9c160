// A detection net from training to boxes, through the command line.

#include <doctest/doctest.h>

#include "tests/program/detector.h"
#include "tests/program/refusals.h"
#include "tests/support/pictures.h"
#include "tests/support/temp_run.h"

namespace flowtrain::detection_test {
namespace {

namespace fs = std::filesystem;

// detector's with three pictures in COCO's way as [data.val], of the net's six classes; those after `whole` are torn.
std::string with_coco(const TempRun& place, int whole, const nlohmann::json& annotations) {
  const char* names[] = {"circle", "square", "triangle", "cross", "ring", "star"};
  nlohmann::json file{{"images", nlohmann::json::array()}, {"categories", nlohmann::json::array()}};
  for (int i = 0; i < 6; ++i) file["categories"].push_back({{"id", i + 1}, {"name", names[i]}});
  const auto jpeg = encode_jpeg(gradient_picture(64, 64, 3));
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i) + ".jpg";
    file["images"].push_back({{"id", 10 + i}, {"width", 64}, {"height", 64}, {"file_name", name}});
    place.folder().write("coco/images/" + name,
                         {reinterpret_cast<const char*>(jpeg.data()), i < whole ? jpeg.size() : jpeg.size() / 8});
  }
  if (!annotations.is_null()) file["annotations"] = annotations;
  place.folder().write("coco/annotations/instances_val2017.json", file.dump());
  std::string text = detector;
  const auto begin = text.find("dataset = "), end = text.find("[sampler]");
  return text.replace(begin, end - begin, "dataset = \"coco\"\npath = \"coco\"\n");
}

nlohmann::json results_of(const TempRun& place, const std::string& snapshot) {
  return nlohmann::json::parse(read_text(place.path("runs/detector/test") / snapshot / "results.json"));
}

}  // namespace

TEST_CASE("a detector trains, and its test writes boxes, metrics and pictures") {
  const TempRun place(detector);
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
  for (const char* picture : {"01.png", "01-boxes.png", "worst-00-boxes.png"})
    CHECK(read_text(folder / picture).starts_with("\x89PNG"));
  CHECK_FALSE(fs::exists(folder / "02.png"));
}

TEST_CASE("a test of a detector counts pictures that it cannot read as such in which nothing is found") {
  const TempRun place(detector);
  REQUIRE_EXIT(place.train(), 0);
  const nlohmann::json box{{"id", 1}, {"image_id", 10}, {"category_id", 1}, {"bbox", {8, 8, 30, 30}}, {"iscrowd", 0}};
  place.folder().write("coco.toml", with_coco(place, 1, nlohmann::json::array({box})));
  const Words asked{"test", "coco.toml", "--snapshot", "runs/detector/snapshots/iter-00000004"};
  const auto outcome = place.run(with(asked, {"--set", "data.max_bad=1"}));
  REQUIRE_EXIT(outcome, 0);
  for (const char* torn : {"1.jpg: ", "2.jpg: "}) CHECK_SAYS(outcome, torn);
  CHECK(nlohmann::json::parse(outcome.out).contains("loss"));
  for (auto& found : results_of(place, "iter-00000004")) CHECK(found.at("image_id") == 10);
}

TEST_CASE("a test of a detector looks at pictures that nobody annotated, and has no loss of them") {
  const TempRun place(detector);
  REQUIRE_EXIT(place.train(), 0);
  place.folder().write("coco.toml", with_coco(place, 3, nullptr));
  const Words asked{"coco.toml", "--snapshot", "runs/detector/snapshots/iter-00000004"};
  const auto outcome = place.run(with({"test"}, asked));
  REQUIRE_EXIT(outcome, 0);
  CHECK_FALSE(nlohmann::json::parse(outcome.out).contains("loss"));
  CHECK(results_of(place, "iter-00000004").is_array());
}

TEST_CASE("a test does not ask for the optimizers that the run had") {
  for (auto& [config, optimizer] : {std::pair{detector, "sgd"}, std::pair{tiny_config, "adamw"}}) {
    const TempRun place(config);
    REQUIRE_EXIT(place.train(), 0);
    const auto plain = place.run({"test", "tiny.toml"});
    REQUIRE_EXIT(plain, 0);
    const auto other = place.run({"test", "tiny.toml", "--set", std::string("optim.name=") + optimizer});
    REQUIRE_EXIT(other, 0);
    CHECK(other.out == plain.out);
  }
}

TEST_CASE("a detector that is resumed ends as one that ran through") {
  const TempRun place(detector);
  REQUIRE_EXIT(place.train({"--run-dir", "whole"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "parts", "--max-iter", "2"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "parts", "--resume", "auto"}), 0);
  CHECK(end_of(place.path("parts")) == end_of(place.path("whole")));
}

TEST_CASE("validation finds objects: the metrics are those of the test, and the best snapshot is the best of them") {
  const TempRun place(detector);
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
  const TempRun place(detector);
  const Words asked{"--set", "val.metrics=[\"ap\"]", "--set", "val.batches=1", "--set", "val.batch=2"};
  REQUIRE_EXIT(place.train(asked), 0);
  CHECK(metrics_of(place.path("runs/detector"), "val").size() == 2);
}

TEST_CASE("metrics of objects where none can be found") {
  const TempRun place(detector), classifier;
  check_refused(place.train({"--set", "val.metrics=[\"ap51\"]"}), 2,
                {"unknown metric 'ap51'; known: accuracy, ", "topN, wer, ap, ap50"});
  check_refused(classifier.train({"--set", "val.metrics=[\"ap\"]"}), 2, {"'ap' is a metric of nets that find objects"});
  check_refused(place.train({"--set", "val.metrics=[\"ap\"]", "--set", "data.train.classes=4"}), 3,
                {"the classes differ from those of the training data: training does not know the classes "});
}

TEST_CASE("detectors that do not fit their data or their sizes") {
  const TempRun place(detector);
  const auto sides = place.train({"--set", "sampler.input_size=[61, 57]"});
  CHECK_EXIT(sides, 2);
  CHECK_SAYS(sides, "expected sides that are multiples of 8");
  const auto metric = place.train({"--set", "val.metrics=[\"accuracy\"]"});
  CHECK_EXIT(metric, 2);
  const auto maps = place.train({"--set", "sampler.output_size=[8, 8]"});
  CHECK_EXIT(maps, 2);
}

}  // namespace flowtrain::detection_test
