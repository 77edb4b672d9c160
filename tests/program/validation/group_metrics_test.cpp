// Metrics for each group of validation samples: val.group_by.

#include <doctest/doctest.h>

#include "tests/program/ranks.h"

namespace flowtrain::group_metrics_test {
namespace {

using nlohmann::json;

std::string tiny_with(const std::string& more) { return std::string(tiny_config) + more; }

Words asked(const std::string& metrics, const std::string& group_by = "") {
  Words words{"--set", "val.metrics=" + metrics};
  return group_by.empty() ? words : with(words, {"--set", "val.group_by=" + group_by});
}

const std::vector<std::string> classes{"circle", "square", "triangle", "cross", "ring", "star"};

}  // namespace

TEST_CASE("metrics of each group stand beside those of all, in one process and two, and in a test") {
  const TempRun place;
  const Words plain = asked("[\"accuracy_per_class\"]"), groups = asked("[\"accuracy\", \"f1\"]", "label");
  for (int processes : {1, 2}) {
    CAPTURE(processes);
    const std::string n = std::to_string(processes);
    REQUIRE_EXIT(train(place, processes, "plain" + n, plain), 0);
    const auto outcome = train(place, processes, "groups" + n, groups);
    REQUIRE_EXIT(outcome, 0);
    CHECK(end_of(place.path("groups" + n)) == end_of(place.path("plain" + n)));
    const auto expected = metrics_of(place.path("plain" + n), "val"),
               lines = metrics_of(place.path("groups" + n), "val");
    REQUIRE(lines.size() == expected.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      for (auto& name : classes) {
        CHECK(lines[i].at("accuracy." + name) == expected[i].at("accuracy." + name));
        CHECK(lines[i].contains("f1." + name));
      }
    CHECK(lines.back().at("accuracy").is_number());
    CHECK(lines.back().at("f1").is_number());
  }
  // Twelve metrics are more than a line on the terminal has room for.
  CHECK(place.train(with({"--run-dir", "told", "--max-iter", "20"}, groups)).err.find("f1.circle") ==
        std::string::npos);
  CHECK_SAYS(place.train(with({"--run-dir", "few", "--max-iter", "20"}, asked("[\"f1\"]", "label"))), "f1.circle");

  const auto tested = place.run({"test", "groups1", "--iter", "60"});
  REQUIRE_EXIT(tested, 0);
  const auto scalars = json::parse(tested.out), line = metrics_of(place.path("groups1"), "val").back();
  for (auto& name : classes)
    for (const std::string metric : {"accuracy.", "f1."}) CHECK(scalars.at(metric + name) == line.at(metric + name));
}

TEST_CASE("rules may be about a group, also of another set, and beside training") {
  const std::string rules =
      "[[val.set]]\nname = \"large\"\nval_samples = 77\n[[best]]\nmetric = \"accuracy.star\"\n"
      "[[best]]\nmetric = \"large.perplexity.star\"\n[early_stop]\npatience = 50\nmetric = \"perplexity.ring\"\n";
  const TempRun place(tiny_with(rules));
  const Words words = with(asked("[\"accuracy\", \"perplexity\"]", "label"), {"--set", "val.every=6"});
  REQUIRE_EXIT(place.train(with({"--run-dir", "inline"}, words)), 0);
  std::pair<double, std::uint64_t> highest{-1, 0}, lowest{1e9, 0};
  for (auto& line : metrics_of(place.path("inline"), "val")) {
    if (const double value = line.at("accuracy.star"); value > highest.first) highest = {value, line.at("iter")};
    lowest = std::min(lowest, {line.at("large.perplexity.star"), line.at("iter")});
  }
  const auto record = json::parse(read_text(place.path("inline") / "result.json"));
  CHECK(record.at("best") ==
        json{{"metric", "accuracy.star"}, {"value", highest.first}, {"iteration", highest.second}});
  CHECK(record.at("best-large.perplexity.star").at("iteration") == lowest.second);
  CHECK(std::filesystem::exists(place.path("inline") / "snapshots/best-large.perplexity.star"));

  REQUIRE_EXIT(place.train(with(with({"--run-dir", "beside"}, words), {"--set", "val.mode=async"})), 0);
  const auto one = metrics_of(place.path("inline"), "val"), other = metrics_of(place.path("beside"), "val");
  REQUIRE(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i] == other[i]);
}

TEST_CASE("groups that cannot be, and rules about groups that are not there") {
  const auto refused = [](const Words& words, const std::string& says, const std::string& more = "") {
    const auto outcome = TempRun(tiny_with(more)).train(words);
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, says);
  };
  const std::string accuracy = "[\"accuracy\"]", rule = "[[best]]\nmetric = \"accuracy.";
  refused(asked(accuracy, "source"),
          "val.group_by: 'source' is not among what the sampler gives for validation: image, label");
  refused(asked(accuracy, "image"),
          "val.group_by: 'image' is neither one whole number for each sample nor the bytes of a text");
  refused(asked("[\"accuracy\", \"confusion\"]", "label"),
          "val.group_by: 'confusion' of val.metrics (--set) is no single metric");
  refused(asked("[]", "label"), "val.group_by: val.metrics names no metric to compute for each group");
  refused(asked(accuracy), "best.0.metric: 'accuracy.star' is not among val.metrics", rule + "star\"\n");
  refused(asked(accuracy, "label"), "tiny.toml:28:1: best.0.metric: 'accuracy.dragon': there is no class 'dragon'",
          rule + "dragon\"\n");
  refused(asked(accuracy, "label"), "early_stop.metric: 'accuracy.' is not among val.metrics",
          "[early_stop]\npatience = 1\nmetric = \"accuracy.\"\n");
  refused({}, "val.set.0.name: 'loss' is a metric of [data.val]", "[[val.set]]\nname = \"loss\"\n");
}

}  // namespace flowtrain::group_metrics_test
