// Several validation sets in one run.

#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "tests/program/picture_files.h"

namespace flowtrain::validation_sets_test {
namespace {

using nlohmann::json;

std::string tiny_with(const std::string& more) { return std::string(tiny_config) + more; }

const std::string more_sets = "[[val.set]]\nname = \"same\"\n[[val.set]]\nname = \"large\"\nval_samples = 77\n";

}  // namespace

TEST_CASE("a validation goes through several sets, each with its own metrics") {
  const TempRun place(tiny_with(more_sets));
  const auto outcome = place.train({"--run-dir", "whole"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "300 samples in 6 classes, 40 for validation, 40 of same, 77 of large");
  const auto lines = metrics_of(place.path("whole"), "val");
  REQUIRE(lines.size() == 3);
  for (auto& line : lines) {
    CHECK(line.at("same.loss") == line.at("loss"));
    CHECK(line.at("same.accuracy") == line.at("accuracy"));
    CHECK(line.at("large.loss") != line.at("loss"));
  }
  // What is trained does not depend on what is looked at.
  const TempRun alone;
  REQUIRE_EXIT(alone.train({"--run-dir", "run"}), 0);
  CHECK(end_of(alone.path("run")) == end_of(place.path("whole")));
  CHECK(metrics_of(alone.path("run"), "val").back().at("loss") == lines.back().at("loss"));
}

TEST_CASE("test measures each set, in a JSON line of its own") {
  const TempRun place(tiny_with(more_sets));
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto tested = place.run({"test", "run", "--iter", "60"});
  REQUIRE_EXIT(tested, 0);
  std::map<std::string, json> lines;
  std::istringstream text(tested.out);
  for (std::string line; std::getline(text, line);) {
    const auto parsed = json::parse(line);
    lines[parsed.value("set", "")] = parsed;
  }
  REQUIRE(lines.size() == 3);
  const auto validated = metrics_of(place.path("run"), "val").back();
  REQUIRE(validated.at("iter") == 60);
  for (const std::string scalar : {"loss", "accuracy"}) {
    const auto is = [&](const json& line) { return doctest::Approx(line.at(scalar).get<double>()); };
    CHECK(validated.at(scalar).get<double>() == is(lines.at("")));
    CHECK(validated.at("same." + scalar).get<double>() == is(lines.at("same")));
    CHECK(validated.at("large." + scalar).get<double>() == is(lines.at("large")));
  }
}

TEST_CASE("sets go on where they were, and rules may be about any of them") {
  const std::string rule =
      "[[best]]\nmetric = \"large.loss\"\n[early_stop]\npatience = 50\nmetric = \"same.accuracy\"\n";
  const Words few{"--set", "val.batches=1", "--set", "val.batch=10", "--set", "val.every=7"};
  const TempRun place(tiny_with(more_sets + rule));
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole"}, few)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "halves", "--max-iter", "35"}, few)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "halves", "--resume", "auto"}, few)), 0);
  const auto whole = metrics_of(place.path("whole"), "val"), halves = metrics_of(place.path("halves"), "val");
  CHECK(whole.back().at("large.loss") == halves.back().at("large.loss"));
  CHECK(whole.back().at("same.loss") == halves.back().at("same.loss"));
  std::pair<double, std::uint64_t> best{1e9, 0};
  for (auto& line : whole) best = std::min(best, {line.at("large.loss"), line.at("iter")});
  const auto record = json::parse(read_text(place.path("whole") / "result.json"));
  CHECK(record.at("best") == json{{"metric", "large.loss"}, {"value", best.first}, {"iteration", best.second}});
}

TEST_CASE("several processes measure the same on every set") {
  const TempRun place(tiny_with(more_sets));
  const Words net{"--set", "net.dropout=0"};
  REQUIRE_EXIT(place.train(with({"--run-dir", "one"}, net)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "two", "--distributed", "--world-size", "2"}, net)), 0);
  const auto one = metrics_of(place.path("one"), "val").front(), two = metrics_of(place.path("two"), "val").front();
  CHECK(two.at("large.loss").get<double>() == doctest::Approx(one.at("large.loss").get<double>()).epsilon(1e-5));
}

TEST_CASE("an empty validation set is not validated on, and the rules that can never fire are told") {
  const std::string rules =
      "[[best]]\nmetric = \"accuracy\"\n[[best]]\nmetric = \"night.loss\"\n[early_stop]\npatience = 1\n"
      "[[schedule]]\nname = \"plateau\"\n";
  const Words pictures = with(picture_count, {"--set", "val.every=5"});
  const auto run = [&](const std::string& main, const std::string& night) {
    const TempRun place(without_shapes() + "[[val.set]]\nname = \"night\"\npath = \"" + night + "\"\n" + rules);
    write_pictures(place.folder());
    std::filesystem::create_directory(place.path("nothing"));
    const auto outcome =
        place.train(with(pictures, {"--set", "data.val.path=" + main, "--run-dir", "run", "--set", "data.max_bad=5"}));
    REQUIRE_EXIT(outcome, 0);
    CHECK(end_of(place.path("run")).iteration == 10);
    const auto tested = place.run({"test", "run"});  // measures what the run did
    CHECK_EXIT(tested, main == "nothing" && night == "nothing" ? 3 : 0);
    if (tested.code == 0)
      CHECK_SAYS(tested, main == "nothing" ? "[data.val] is left out: " : "[[val.set]] night is left");
    return std::pair{outcome, metrics_of(place.path("run"), "val")};
  };
  SUBCASE("[data.val]'s") {
    const auto ended = run("nothing", "pictures");
    const auto& outcome = ended.first;
    const auto& lines = ended.second;  // A check may not capture a binding in C++20\'s clang 14.
    CHECK_SAYS(outcome, "no validation on [data.val]: nothing");
    CHECK_SAYS(outcome, "; without it these can never fire: best.0.metric (tiny.toml:");
    CHECK_SAYS(outcome, "early_stop.patience (tiny.toml:");
    CHECK_SAYS(outcome, "schedule.0.name (tiny.toml:");
    CHECK(outcome.err.find("best.1.metric") == std::string::npos);
    REQUIRE(lines.size() == 2);
    CHECK(lines.back().contains("night.accuracy"));
    CHECK_FALSE(lines.back().contains("accuracy"));
  }
  SUBCASE("that of a [[val.set]]") {
    const auto ended = run("pictures", "nothing");
    const auto& outcome = ended.first;
    const auto& lines = ended.second;  // A check may not capture a binding in C++20\'s clang 14.
    CHECK_SAYS(outcome, "no validation on [[val.set]] night: nothing");
    CHECK_SAYS(outcome, "; without it these can never fire: best.1.metric (tiny.toml:");
    CHECK(outcome.err.find("best.0.metric") == std::string::npos);
    REQUIRE(lines.size() == 2);
    CHECK(lines.back().contains("accuracy"));
    CHECK_FALSE(lines.back().contains("night.accuracy"));
  }
  SUBCASE("all of them") {
    const auto ended = run("nothing", "nothing");
    const auto& outcome = ended.first;
    const auto& lines = ended.second;  // A check may not capture a binding in C++20\'s clang 14.
    CHECK_SAYS(outcome, "no validation on [data.val]: ");
    CHECK_SAYS(outcome, "no validation on [[val.set]] night: ");
    CHECK(lines.empty());
  }
}

TEST_CASE("sets that cannot be") {
  const auto refused = [](const std::string& more, const std::string& says) {
    const auto outcome = TempRun(tiny_with(more)).train();
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, says);
  };
  refused("[[val.set]]\nval_samples = 3\n", "val.set.0.name");
  refused("[[val.set]]\nname = \"a.b\"\n", "val.set.0.name: expected a name without dots");
  refused("[[val.set]]\nname = \"/a\"\n", "val.set.0.name: expected a name without dots and slashes");
  refused("[[val.set]]\nname = \"accuracy\"\n", "val.set.0.name: 'accuracy.' begins the metrics of accuracy_per_class");
  refused("[[val.set]]\nname = \"a\"\n[[val.set]]\nname = \"a\"\n", "another [[val.set]] is called so");
  refused("[[val.set]]\nname = \"a\"\n[[best]]\nmetric = \"b.loss\"\n",
          "best.0.metric: 'b.loss' is not among val.metrics");
  refused("[[val.set]]\nname = \"a\"\nsamplez = 3\n", "samplez");
  const TempRun place(tiny_with("[[val.set]]\nname = \"a\"\ndataset = \"shapes\"\nsize = 20\n"));
  const auto other = place.train({"--set", "sampler.name=copy"});
  CHECK_EXIT(other, 3);
  CHECK_SAYS(other, "these are pictures of 20x20 with 3 channels, and the training data are pictures of ");
}

}  // namespace flowtrain::validation_sets_test
