// val.pictures: the samples that people look at after each validation.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sampling/codecs/image.h"
#include "tests/program/detector.h"
#include "tests/program/ranks.h"

namespace flowtrain::pictures_test {
namespace {

using nlohmann::json;

constexpr const char* png = "\x89PNG";

Words shows(int pictures) { return {"--set", "val.pictures=" + std::to_string(pictures)}; }

fs::path pictures_of(const fs::path& run, int iteration) {
  const std::string digits = std::to_string(iteration);
  return run / "pictures" / ("iter-" + std::string(8 - digits.size(), '0') + digits);
}

json shown_in(const fs::path& folder) { return json::parse(read_text(folder / "pictures.json")); }

/// All files below a folder, by name; those whose names begin with a dot do not count.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_text(entry.path());
  return files;
}

std::set<std::string> iterations_in(const fs::path& folder) {
  std::set<std::string> names;
  for (auto& entry : fs::directory_iterator(folder))
    if (!entry.is_symlink()) names.insert(entry.path().filename().string());
  return names;
}

std::vector<int> ids_of(const json& samples) {
  std::vector<int> ids;
  for (auto& sample : samples) ids.push_back(sample.at("id"));
  return ids;
}

/// The same samples with the same text; numbers may differ by rounding.
void check_alike(const json& a, const json& b) {
  CAPTURE(a);
  CAPTURE(b);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (auto& [key, value] : a[i].items())
      if (value.is_number_float())
        CHECK(value.get<double>() == doctest::Approx(b[i].at(key).get<double>()).epsilon(1e-3));
      else
        CHECK(value == b[i].at(key));
}

/// Detections by picture: x1, y1, x2, y2, score.
using Found = std::map<int, std::vector<std::array<double, 5>>>;

}  // namespace

TEST_CASE("pictures of a classifier: predictions, labels and losses are those of the test") {
  const TempRun place;
  const Words asked = with(shows(40), {"--run-dir", "run", "--set", "val.metrics=[\"accuracy\", \"confusion\"]"});
  REQUIRE_EXIT(place.train(asked), 0);
  const auto tested = place.run({"test", "run", "--iter", "60"});
  REQUIRE_EXIT(tested, 0);
  const auto scalars = json::parse(tested.out);

  const fs::path folder = pictures_of(place.path("run"), 60);
  const auto shown = shown_in(folder);
  CHECK(shown.at("iter") == 60);
  CHECK(shown.at("set") == "val");
  CHECK(shown.at("kind") == "classify");
  REQUIRE(shown.at("samples").size() == 40);  // the whole set
  double loss = 0, right = 0;
  std::map<std::pair<std::string, std::string>, int> pairs;
  std::vector<double> losses;
  Image picture;
  for (auto& sample : shown.at("samples")) {
    losses.push_back(sample.at("loss"));
    loss += losses.back() / 40;
    right += sample.at("label") == sample.at("prediction");
    ++pairs[{sample.at("label"), sample.at("prediction")}];
    CHECK(sample.at("score") > 1.0 / 6);
    CHECK(sample.at("score") <= 1.0);
    if (sample.at("label") == sample.at("prediction"))
      CHECK(losses.back() == doctest::Approx(-std::log(sample.at("score").get<double>())).epsilon(1e-3));
    const std::string file = read_text(folder / sample.at("file").get<std::string>());
    decode_image(std::as_bytes(std::span(file)), picture);
    CHECK(picture.height == 16);
    CHECK(picture.width == 16);
  }
  CHECK(loss == doctest::Approx(scalars.at("loss").get<double>()).epsilon(1e-5));
  CHECK(right / 40 == doctest::Approx(scalars.at("accuracy").get<double>()));
  const auto confusion = read_text(place.path("run/test/iter-00000060/confusion.csv"));
  const std::string names[] = {"circle", "square", "triangle", "cross", "ring", "star"};
  std::string expected = "label,circle,square,triangle,cross,ring,star\n";
  for (auto& label : names) {
    expected += label;
    for (auto& prediction : names) expected += "," + std::to_string(pairs[{label, prediction}]);
    expected += "\n";
  }
  CHECK(confusion == expected);

  std::ranges::sort(losses, std::greater());
  REQUIRE(shown.at("worst").size() == 40);
  for (std::size_t i = 0; i < 40; ++i) CHECK(shown.at("worst")[i].at("loss") == losses[i]);
  CHECK(read_text(folder / "worst-00.png").starts_with(png));
}

TEST_CASE("the same samples each time, with any workers, mode and ranks, and training does not notice") {
  const TempRun place;
  const auto run = [&](const std::string& name, const Words& more) {
    REQUIRE_EXIT(place.train(with(with(smooth, {"--run-dir", name}), more)), 0);
    return place.path(name);
  };
  const auto none = run("none", {}), plain = run("plain", shows(5));
  CHECK_FALSE(fs::exists(none / "pictures"));
  CHECK(end_of(plain) == end_of(none));
  CHECK(metrics_of(plain, "val") == metrics_of(none, "val"));
  const auto files = files_below(plain / "pictures");
  const auto first = shown_in(pictures_of(plain, 20)), last = shown_in(pictures_of(plain, 60));
  CHECK(first.at("samples").size() == 5);
  CHECK(first.at("worst").size() == 5);
  CHECK(ids_of(first.at("samples")) == ids_of(last.at("samples")));
  for (const char* same : {"00.png", "04.png"})
    CHECK(files.at(std::string("iter-00000020/") + same) == files.at(std::string("iter-00000060/") + same));

  const auto async = run("async", with(shows(5), {"--set", "val.mode=async", "--workers", "1"}));
  CHECK(files_below(async / "pictures") == files);
  const auto two = run("two", with(shows(5), {"--distributed", "--world-size", "2"}));
  const auto both = files_below(two / "pictures");
  REQUIRE(both.size() == files.size());
  for (auto& [name, bytes] : files)
    if (!name.ends_with(".json") && name.find("worst") == std::string::npos) CHECK(both.at(name) == bytes);
  const auto theirs = shown_in(pictures_of(two, 20));
  check_alike(theirs.at("samples"), first.at("samples"));
  check_alike(theirs.at("worst"), first.at("worst"));
}

TEST_CASE("killed and resumed, a run has the same pictures, and they live as long as snapshots") {
  const TempRun place;
  const Words asked = with(shows(4), {"--set", "val.every=5", "--set", "snapshot.every=5", "--set",
                                      "snapshot.keep_last=2", "--set", "snapshot.keep_every=20"});
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole"}, asked)), 0);
  const auto whole = place.path("whole"), killed = place.path("killed");
  const auto kept = iterations_in(whole / "pictures");
  CHECK(kept == iterations_in(whole / "snapshots"));
  for (const char* name : {"iter-00000020", "iter-00000040", "iter-00000055", "iter-00000060"})
    CHECK(kept.contains(name));
  CHECK(kept.size() < 12);

  const Words again = with({"tiny.toml", "--run-dir", killed.string(), "--resume", "auto"}, asked);
  for (const int iteration : {15, 25, 40}) {
    Process process(again, place.process_options());
    REQUIRE(process.wait_for_text("\"iter\":" + std::to_string(iteration) + ",", killed / "metrics.jsonl"));
    process.send(SIGKILL);
    process.wait();
  }
  REQUIRE_EXIT(place.run(again), 0);
  CHECK(end_of(killed) == end_of(whole));
  CHECK(files_below(killed / "pictures") == files_below(whole / "pictures"));

  // Those of iterations that were given up go with them.
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole", "--iter", "20", "--max-iter", "20"}, asked)), 0);
  CHECK(iterations_in(whole / "pictures") == std::set<std::string>{"iter-00000020"});
}

TEST_CASE("pictures of several sets, of a part of the set at a time") {
  const TempRun place(std::string(tiny_config) + "[[val.set]]\nname = \"large\"\nval_samples = 77\n");
  const Words asked = with(shows(3), {"--set", "val.every=10", "--set", "val.batch=10", "--set", "val.batches=1",
                                      "--set", "snapshot.keep_last=9", "--run-dir", "run"});
  REQUIRE_EXIT(place.train(asked), 0);
  const auto run = place.path("run");
  std::map<int, std::vector<int>> ids;
  for (const int iteration : {10, 20, 50}) {
    const auto shown = shown_in(pictures_of(run, iteration));
    ids[iteration] = ids_of(shown.at("samples"));
    CHECK(ids[iteration].size() == 3);
  }
  CHECK(ids[10] != ids[20]);
  CHECK(ids[10] == ids[50]);  // the set has four such parts
  const auto large = shown_in(pictures_of(run, 60) / "large");
  CHECK(large.at("set") == "large");
  CHECK(large.at("iter") == 60);
  CHECK(large.at("worst").size() == 3);
  CHECK(
      read_text(pictures_of(run, 60) / "large" / large.at("worst")[0].at("file").get<std::string>()).starts_with(png));
}

TEST_CASE("pictures of a detector have the boxes that its test finds") {
  const TempRun place(detector);
  const Words asked = with(
      shows(3), {"--set", "detect.ae_threshold=100.0", "--set", "detect.top_k=100", "--set", "detect.num_dets=1000"});
  const std::map<std::string, Words> runs{
      {"plain", {}}, {"metrics", {"--set", "val.metrics=[\"ap\"]"}}, {"two", {"--distributed", "--world-size", "2"}}};
  for (auto& [run, more] : runs) REQUIRE_EXIT(place.train(with(with(asked, {"--run-dir", run}), more)), 0);
  const auto one = files_below(place.path("plain/pictures"));
  CHECK(files_below(place.path("metrics/pictures")) == one);

  REQUIRE_EXIT(place.run({"test", "plain", "--iter", "4"}), 0);
  Found expected;
  for (auto& found : json::parse(read_text(place.path("plain/test/iter-00000004/results.json")))) {
    const auto& box = found.at("bbox");
    const double x = box[0], y = box[1], width = box[2], height = box[3];
    expected[found.at("image_id")].push_back({x, y, x + width, y + height, found.at("score")});
  }
  const fs::path folder = pictures_of(place.path("plain"), 4);
  const auto shown = shown_in(folder);
  CHECK(shown.at("kind") == "detect");
  CHECK(shown.at("worst").empty());
  REQUIRE(shown.at("samples").size() == 3);
  std::size_t boxes = 0;
  for (auto& sample : shown.at("samples")) {
    CAPTURE(sample);
    CHECK(read_text(folder / sample.at("file").get<std::string>()).starts_with(png));
    CHECK(read_text(folder / sample.at("boxes_file").get<std::string>()).starts_with(png));
    auto& found = expected[sample.at("id")];
    std::ranges::stable_sort(found, [](auto& a, auto& b) { return a[4] > b[4]; });
    std::size_t next = 0, truths = 0;
    for (auto& box : sample.at("boxes")) {
      CHECK(box.at("label").is_string());
      truths += box.at("truth").get<bool>();
      if (box.at("truth").get<bool>()) continue;
      REQUIRE(next < found.size());
      CHECK(box.at("score").get<double>() == doctest::Approx(found[next][4]).epsilon(1e-4));
      CHECK(box.at("x1").get<double>() == doctest::Approx(found[next][0]).epsilon(1e-3));
      CHECK(box.at("y2").get<double>() == doctest::Approx(found[next][3]).epsilon(1e-3));
      ++next;
    }
    CHECK(truths > 0);
    CHECK(next == std::min<std::size_t>(found.size(), 50));
    boxes += next;
  }
  CHECK(boxes > 0);
  const auto two = shown_in(pictures_of(place.path("two"), 4));
  CHECK(ids_of(two.at("samples")) == ids_of(shown.at("samples")));
}

TEST_CASE("pictures of a net that makes pictures") {
  const TempRun place(read_text(test::source_path("configs/gan_shapes.toml")));
  const Words asked = with(shows(2), {"--max-iter", "2", "--set", "val.every=1", "--set", "data.val_samples=20",
                                      "--set", "data.size=16", "--set", "loader.batch=8", "--run-dir", "run"});
  REQUIRE_EXIT(place.train(asked), 0);
  const auto files = files_below(place.path("run/pictures"));
  const auto shown = shown_in(pictures_of(place.path("run"), 2));
  CHECK(shown.at("kind") == "generate");
  CHECK(shown.at("worst").empty());
  for (auto& sample : shown.at("samples")) CHECK(sample.contains("prediction_file"));
  CHECK(files.at("iter-00000002/00-prediction.png").starts_with(png));
  CHECK(files.at("iter-00000002/00-prediction.png") != files.at("iter-00000001/00-prediction.png"));
  CHECK(files.at("iter-00000002/00.png") == files.at("iter-00000001/00.png"));
}

}  // namespace flowtrain::pictures_test
