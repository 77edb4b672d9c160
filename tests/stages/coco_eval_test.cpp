// Evaluation of detectors: cases worked out by hand, and pycocotools' numbers where it is installed.

#include "stages/evaluation/coco_eval.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sampling/core/error.h"
#include "sampling/core/random.h"
#include "stages/evaluation/results_file.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fault_points.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::coco_eval_test {
namespace {

TrueObject object(std::int64_t image, double x, double y, double width, double height, bool ignore = false) {
  return {image, 1, x, y, width, height, width * height, ignore};
}

FoundObject found(std::int64_t image, double x, double y, double width, double height, double score) {
  return {image, 1, x, y, width, height, score};
}

CocoScores scores(const std::vector<TrueObject>& objects, const std::vector<FoundObject>& detections) {
  const auto out = coco_evaluate({{1, 2, 3}, {{1, "a"}}, objects}, detections);
  REQUIRE(out.classes.size() == 1);
  for (const auto& [name, score] : coco_score_names) CHECK(out.all.*score == out.classes[0].*score);
  return out.all;
}

TEST_CASE("coco: all found, none found, nothing there") {
  const std::vector<TrueObject> objects{object(1, 0, 0, 20, 20), object(2, 0, 0, 50, 50), object(2, 60, 0, 200, 200)};
  const auto best =
      scores(objects, {found(1, 0, 0, 20, 20, 0.5), found(2, 0, 0, 50, 50, 0.9), found(2, 60, 0, 200, 200, 0.8)});
  for (const auto& [name, score] : coco_score_names)
    if (std::string(name) != "AR1") CHECK_MESSAGE(best.*score == doctest::Approx(1), name);
  CHECK(best.ar1 == doctest::Approx(2.0 / 3));
  const auto none = scores(objects, {});
  for (const auto& [name, score] : coco_score_names) CHECK_MESSAGE(none.*score == 0, name);
  const auto nothing = scores({}, {found(1, 0, 0, 20, 20, 0.5)});
  for (const auto& [name, score] : coco_score_names) CHECK_MESSAGE(nothing.*score == -1, name);
}

TEST_CASE("coco: an overlap of 0.6, and a wrong one before it") {
  const std::vector<TrueObject> objects{object(1, 0, 0, 100, 100)};
  const auto loose = scores(objects, {found(1, 0, 0, 100, 60, 0.5)});
  CHECK(loose.ap == doctest::Approx(0.3));  // at 0.5, 0.55 and 0.6
  CHECK(loose.ap50 == doctest::Approx(1));
  CHECK(loose.ap75 == 0);
  CHECK(loose.ar100 == doctest::Approx(0.3));
  CHECK(loose.ap_small == -1);
  const auto second = scores(objects, {found(1, 0, 0, 100, 100, 0.5), found(1, 300, 0, 10, 10, 0.6)});
  CHECK(second.ap == doctest::Approx(0.5));
  CHECK(second.ap_large == doctest::Approx(1));  // the wrong one is small
  CHECK(second.ar1 == 0);
  const auto twice = scores(objects, {found(1, 0, 0, 100, 100, 0.5), found(1, 0, 0, 100, 100, 0.4)});
  CHECK(twice.ap == doctest::Approx(1));  // full recall comes first
}

TEST_CASE("coco: what finds a crowd is neither right nor wrong, however often") {
  const std::vector<TrueObject> objects{object(1, 0, 0, 100, 100), object(1, 200, 0, 200, 200, true)};
  const auto out =
      scores(objects, {found(1, 0, 0, 100, 100, 0.5), found(1, 210, 10, 20, 20, 0.9), found(1, 230, 10, 20, 20, 0.8)});
  CHECK(out.ap == doctest::Approx(1));
  CHECK(out.ar1 == 0);  // the best of the picture went into the crowd
  CHECK(out.ar10 == doctest::Approx(1));
}

TEST_CASE("coco: wrong use") {
  const GroundTruth truth{{1}, {{1, "a"}}, {}};
  const std::vector<FoundObject> elsewhere{found(7, 0, 0, 1, 1, 0.5)};
  check_failure(failure_of([&] { coco_evaluate(truth, elsewhere); }), ExitCode::data,
                "a detection in image 7, which is not among those evaluated");
  const std::vector<FoundObject> endless{found(1, 0, 0, 1, 1, std::nan(""))};
  check_failure(failure_of([&] { coco_evaluate(truth, endless); }), ExitCode::data,
                "image 1 has a number that is not finite");
  CHECK_THROWS_AS(coco_evaluate({{1}, {{1, "a"}}, {object(2, 0, 0, 1, 1)}}, {}), InternalError);
  const std::vector<FoundObject> unknown{{1, 9, 0, 0, 1, 1, 0.5}};
  CHECK(coco_evaluate(truth, unknown).all.ap == -1);  // a class that nobody asks for
}

/// Pictures as awkward as can be: crowds, boxes just on the limits of the areas, whole pixels and scores of one digit
/// (ties), copies, more than 100 detections of a class, pictures without objects or detections, a class without either.
struct Awkward {
  explicit Awkward(std::uint64_t seed) : random(seed, Purpose::sample, 0) {
    for (std::int64_t id : {1, 3, 18, 44, 90}) truth.categories.push_back({id, std::to_string(id)});
    for (std::int64_t i = 0; i < 30; ++i) truth.images.push_back((i * 7919 + 13) % 1000);
    for (const auto image : truth.images) add_picture(image);
  }

  double whole(int below) { return static_cast<double>(random.below(static_cast<std::uint64_t>(below))); }
  bool chance(double share) { return random.uniform() < share; }

  void add_picture(std::int64_t image) {
    const auto objects = random.below(12);
    for (std::uint64_t i = 0; i < objects; ++i) {
      const double side = chance(0.3) ? (chance(0.5) ? 32 : 96) : 4 + whole(160);
      TrueObject object{image, category(), whole(300), whole(300), side, chance(0.4) ? side : 4 + whole(160),
                        0,     chance(0.1)};
      object.area = object.width * object.height * (chance(0.5) ? 1 : random.uniform(0.3, 1));
      truth.objects.push_back(object);
      if (chance(0.8)) add_found_near(object);
    }
    const auto wrong = chance(0.1) ? 250 : chance(0.2) ? 0 : random.below(12);
    for (std::uint64_t i = 0; i < wrong; ++i)
      detections.push_back({image, category(), whole(300), whole(300), 1 + whole(120), 1 + whole(120), score()});
  }

  void add_found_near(const TrueObject& object) {
    const auto copies = 1 + random.below(3);
    for (std::uint64_t i = 0; i < copies; ++i)
      detections.push_back({object.image_id, chance(0.9) ? object.category_id : category(), object.x + whole(7) - 3,
                            object.y + whole(7) - 3, object.width + whole(5), object.height * (chance(0.3) ? 0.75 : 1),
                            score()});
  }

  std::int64_t category() { return truth.categories[random.below(truth.categories.size() - 1)].id; }
  double score() { return chance(0.7) ? whole(10) / 10 : random.uniform(); }

  Stream random;
  GroundTruth truth;
  std::vector<FoundObject> detections;
};

std::string instances_of(const GroundTruth& truth) {
  std::ostringstream out;
  out.precision(17);
  out << "{\"images\":[";
  for (std::size_t i = 0; i < truth.images.size(); ++i) out << (i ? "," : "") << "{\"id\":" << truth.images[i] << '}';
  out << "],\"categories\":[";
  for (std::size_t i = 0; i < truth.categories.size(); ++i)
    out << (i ? "," : "") << "{\"id\":" << truth.categories[i].id << ",\"name\":\"a\"}";
  out << "],\"annotations\":[";
  for (std::size_t i = 0; i < truth.objects.size(); ++i) {
    const auto& each = truth.objects[i];
    out << (i ? "," : "") << "{\"id\":" << i + 1 << ",\"image_id\":" << each.image_id
        << ",\"category_id\":" << each.category_id << ",\"bbox\":[" << each.x << ',' << each.y << ',' << each.width
        << ',' << each.height << "],\"area\":" << each.area << ",\"iscrowd\":" << each.ignore << '}';
  }
  out << "]}";
  return out.str();
}

/// What a command prints; nothing where it fails.
std::string output_of(const std::string& command) {
  std::string text;
  auto* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe);
  for (char block[4096]; const auto got = std::fread(block, 1, sizeof(block), pipe);) text.append(block, got);
  return ::pclose(pipe) == 0 ? text : "";
}

std::string python_check() {
  const char* folder = std::getenv("FLOWTRAIN_TEST_PYTHONPATH");
  return std::string("PYTHONPATH='").append(folder ? folder : "") + "' python3 " +
         test::source_path("tests/stages/coco_eval_check.py ");
}

TEST_CASE("coco: equal to pycocotools") {
  const auto check = python_check();
  SKIP_UNLESS(std::system((check + ">/dev/null 2>&1").c_str()) == 0, "pycocotools",
              "this python3 cannot import pycocotools; FLOWTRAIN_TEST_PYTHONPATH may name a folder");
  const TempFolder temp;
  for (std::uint64_t seed = 0; seed < 6 * times(); ++seed) {
    CAPTURE(seed);
    const Awkward awkward(seed);
    const auto instances = temp.write("instances.json", instances_of(awkward.truth));
    temp.write("results.json", results_text(awkward.detections));
    std::istringstream printed(
        output_of(check + instances.string() + " " + (temp.path() / "results.json").string() + " 2>/dev/null"));
    const auto ours = coco_evaluate(awkward.truth, awkward.detections, 3);
    const auto compare = [&](const CocoScores& scores) {
      for (const auto& [name, score] : coco_score_names) {
        std::string theirs;
        REQUIRE(bool(printed >> theirs));
        CAPTURE(name);
        CHECK(scores.*score == doctest::Approx(std::strtod(theirs.c_str(), nullptr)).epsilon(1e-12));
      }
    };
    compare(ours.all);
    CHECK(ours.all.ap > 0.02);
    CHECK(ours.all.ap < 0.9);
    for (const auto& scores : ours.classes) compare(scores);
  }
}

TEST_CASE("coco: the same on any number of threads") {
  const Awkward awkward(99);
  const auto one = coco_evaluate(awkward.truth, awkward.detections, 1);
  for (const unsigned threads : {2U, 5U, 16U}) {
    const auto many = coco_evaluate(awkward.truth, awkward.detections, threads);
    for (const auto& [name, score] : coco_score_names) CHECK_MESSAGE(one.all.*score == many.all.*score, name);
  }
}

TEST_CASE("results: the text gives the numbers back, to the last bit") {
  const Awkward awkward(5);
  const auto back = nlohmann::json::parse(results_text(awkward.detections));
  REQUIRE(back.size() == awkward.detections.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    const auto& found = awkward.detections[i];
    const bool same = back[i]["image_id"] == found.image_id && back[i]["category_id"] == found.category_id &&
                      back[i]["bbox"] == nlohmann::json({found.x, found.y, found.width, found.height}) &&
                      back[i]["score"] == found.score;
    CHECK(same);
  }
  CHECK(nlohmann::json::parse(results_text({})).empty());
  const CocoTextIds texts{{42, "42"}, {-7, "a \"b\"\\\n"}};
  const auto named = nlohmann::json::parse(results_text(std::vector<FoundObject>{{42, -7, 0, 0, 1, 1, 0.5}}, texts));
  CHECK(named[0]["image_id"] == "42");
  CHECK(named[0]["category_id"] == "a \"b\"\\\n");
  CHECK(results_text(std::vector<FoundObject>{{42, 18, 258.15, 41.29, 348.26, 243.78, 0.236}}) ==
        "[{\"image_id\":42,\"category_id\":18,\"bbox\":[258.15,41.29,348.26,243.78],\"score\":0.236}]\n");
}

}  // namespace
}  // namespace flowtrain::coco_eval_test
