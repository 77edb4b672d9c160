// Event files, read by TensorBoard's own reader.

#include <doctest/doctest.h>
#include <signal.h>

#include <map>

#include "tests/support/python.h"
#include "tests/support/skip.h"
#include "tests/support/temp_run.h"

namespace flowtrain::tensorboard_test {
namespace {

using nlohmann::json;

const Words longer{"--run-dir",    "run",   "--max-iter",        "400",   "--set",
                   "val.every=50", "--set", "snapshot.every=50", "--set", "display.histograms=100"};

// tag -> iteration -> value, of the lines of a kind. Event files hold floats.
void add_expected(std::map<std::string, std::map<std::uint64_t, float>>& expected, const std::filesystem::path& run,
                  const std::string& kind) {
  for (auto& line : metrics_of(run, kind))
    for (auto& [field, value] : line.items())
      if (field != "iter" && field != "kind" && (kind != "epoch" || field != "epoch") && value.is_number())
        expected[kind + "/" + field][line.at("iter")] = value.get<float>();
}

json read_back(const std::filesystem::path& run) {
  return json::parse(
      test::output_of(test::python_command("tests/program/read_tensorboard.py ") + (run / "tensorboard").string()));
}

void check_scalars(const json& read, const std::filesystem::path& run) {
  std::map<std::string, std::map<std::uint64_t, float>> expected;
  for (auto kind : {"train", "val", "epoch"}) add_expected(expected, run, kind);
  CHECK(read.at("scalars").size() == expected.size());
  for (auto& [tag, values] : expected) {
    CAPTURE(tag);
    REQUIRE(read.at("scalars").contains(tag));
    const auto& points = read.at("scalars").at(tag);
    REQUIRE(points.size() == values.size());
    auto point = points.begin();
    for (auto& [iteration, value] : values) {
      CAPTURE(iteration);
      CHECK(point->at(0) == iteration);
      CHECK(point->at(1).get<float>() == value);
      ++point;
    }
  }
}

}  // namespace

TEST_CASE("TensorBoard reads what metrics.jsonl has, with histograms, pictures and texts, also after kill -9") {
  SKIP_UNLESS(test::python_has("tensorboard"), "python-tensorboard",
              "this python3 cannot import tensorboard; FLOWTRAIN_TEST_PYTHONPATH may name a folder");
  const TempRun place;
  const auto run = place.path("run");
  {
    Process killed(with({"tiny.toml"}, longer), place.process_options());
    REQUIRE(killed.wait_for_text("\"iter\":230,", run / "metrics.jsonl"));
    killed.send(SIGKILL);
    REQUIRE(killed.wait().signal == SIGKILL);
  }
  // A red pixel.
  const std::string png = std::string(
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\b\2\0\0\0\x90wS\xde\0\0\0\fIDATx\x9c"
      "c\xf8\xcf\xc0\0\0"
      "\3\1\1\0\xc9\xfe\x92\xef\0\0\0\0IEND\xae"
      "B`\x82",
      69);
  place.folder().write("run/pictures/iter-00000100/00.png", png);
  place.folder().write("run/pictures/iter-00000100/pictures.json",
                       R"({"iter":100,"set":"val","samples":[{"file":"00.png","id":3}]})");
  REQUIRE_EXIT(place.train(with(longer, {"--resume", "auto"})), 0);
  CHECK(metrics_of(run, "resume").size() == 1);
  const json read = read_back(run);
  check_scalars(read, run);

  bool weights = false, gradients = false;
  for (auto& [tag, points] : read.at("histograms").items()) {
    CAPTURE(tag);
    weights |= tag.starts_with("weights/");
    gradients |= tag.starts_with("gradients/");
    REQUIRE(points.size() == 4);
    for (std::size_t i = 0; i < points.size(); ++i) {
      CHECK(points[i].at(0) == 100 * (i + 1));
      double sum = 0;
      for (auto& count : points[i].at(3)) sum += count.get<double>();
      CHECK(points[i].at(1) == sum);
      CHECK(sum > 0);
      const auto limits = points[i].at(2).get<std::vector<double>>();
      CHECK(std::is_sorted(limits.begin(), limits.end()));
      CHECK(limits.size() == points[i].at(3).size());
    }
  }
  CHECK(weights);
  CHECK(gradients);

  REQUIRE(read.at("images").size() == 1);
  const auto& picture = read.at("images").at("pictures/00");
  REQUIRE(picture.size() == 1);
  CHECK(picture[0].at(0) == 100);
  CHECK(picture[0].at(1) == 1);
  CHECK(picture[0].at(2) == 1);
  CHECK(picture[0].at(3).get<std::string>().starts_with("iVBORw0KGgo"));

  const auto& texts = read.at("texts");
  REQUIRE(texts.size() == 2);
  CHECK(texts.at("config").at(0).at(1).get<std::string>().find("hidden = [32]") != std::string::npos);
  CHECK(texts.at("graph").at(0).at(1).get<std::string>().find("| snapshot |") != std::string::npos);
}

TEST_CASE("histograms, event files and a run without them: the same parameters") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "with", "--set", "display.histograms=1"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "without", "--set", "display.tensorboard=false"}), 0);
  CHECK(end_of(place.path("with")) == end_of(place.path("without")));
  CHECK_FALSE(std::filesystem::exists(place.path("without/tensorboard")));
  const auto idle = place.train(
      {"--run-dir", "idle", "--max-iter", "1", "--set", "display.tensorboard=false", "--set", "display.histograms=1"});
  REQUIRE_EXIT(idle, 0);
  CHECK_SAYS(idle, "display.histograms (--set) is not read: tensorboard is false");
}

}  // namespace flowtrain::tensorboard_test
