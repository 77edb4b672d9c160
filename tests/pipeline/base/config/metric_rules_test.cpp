// By which metric validations are compared, and what is better.

#include "pipeline/base/config/metric_rules.h"

#include <doctest/doctest.h>

#include <tuple>

#include "nets/entries.h"
#include "pipeline/base/config/keys.h"
#include "sampling/core/settings.h"
#include "tests/pipeline/base/config/support.h"

namespace flowtrain::metric_rules_test {

using namespace flowtrain::testing;

namespace {

/// Seven lines, and `more`.
std::string measured(const std::string& metrics, const std::string& more = "") {
  return letters + "[net]\nname = \"mlp\"\n[val]\nevery = 5\nmetrics = " + metrics + "\n" + more;
}

const std::string all =
    R"(["accuracy", "f1", "perplexity", "error_rate", "mean_iou", "span_f1", "ap", "confusion", "accuracy_per_class"])";

/// What a rule with these two keys goes by, where all metrics are measured.
RuledMetric scalar(const std::string& metric, const std::string& mode = "auto") {
  Settings rule("early_stop", core_keys("early_stop"));
  rule.set("metric", metric, {"a.toml", 9, 1});
  rule.set("mode", mode, {"a.toml", 10, 1});
  return ruled_metric(rule, loaded(measured(all)));
}

/// A metric of which less is better, with a key.
void add_metric() {
  static const bool once [[maybe_unused]] = [] {
    nets::metrics().add(
        {"badness", "for tests", {{"weight", Kind::real, 1.0, "what it counts"}}, {}, {.lower_is_better = true}});
    return true;
  }();
}

}  // namespace

TEST_CASE("the first metric that is one number rules") {
  const auto ruling = [](const std::string& metrics) { return ruling_metric(loaded(measured(metrics))); };
  CHECK(ruling(R"(["confusion", "accuracy_per_class", "f1", "accuracy"])").name == "f1");
  CHECK_FALSE(ruling(R"(["f1"])").lower_wins);
  CHECK(ruling(R"(["perplexity", "f1"])").lower_wins);
  for (auto none : {R"(["confusion"])", "[]"}) {
    CHECK(ruling(none).name == "loss");
    CHECK(ruling(none).lower_wins);
  }
  CHECK(scalar("").name == "accuracy");
}

TEST_CASE("which of two metrics is better is what the metric's entry says, whatever set and group the metric is of") {
  for (const std::string name : {"loss", "perplexity", "error_rate", "night.loss", "night.perplexity.cat"}) {
    CAPTURE(name);
    CHECK(scalar(name).name == name);
    CHECK(scalar(name).lower_wins);
  }
  for (const std::string name :
       {"accuracy", "f1", "mean_iou", "span_f1", "ap", "night.accuracy", "accuracy.loss", "f1.cat"}) {
    CAPTURE(name);
    CHECK(scalar(name).name == name);
    CHECK_FALSE(scalar(name).lower_wins);
  }
}

TEST_CASE("a '-' before the metric says that lower is better, and so does mode") {
  for (auto& [metric, mode, lower] : {std::tuple{"-loss", "auto", true},
                                      {"-loss", "min", true},
                                      {"-f1", "auto", true},
                                      {"-night.f1", "auto", true},
                                      {"f1", "min", true},
                                      {"", "min", true},
                                      {"loss", "max", false},
                                      {"f1", "max", false}}) {
    CAPTURE(metric);
    CAPTURE(mode);
    CHECK(scalar(metric, mode).lower_wins == lower);
  }
  CHECK(scalar("-f1").name == "f1");
  CHECK(scalar("-night.f1").name == "night.f1");

  const std::string contrary = "metric = \"-loss\"\nmode = \"max\"\n",
                    says = ".mode: \"max\" says that higher is better, and metric = \"-loss\" that lower is";
  for (auto& [table, rule] : {std::pair<std::string, std::string>{"[early_stop]\npatience = 2\n", "early_stop"},
                              {"[[best]]\nkeep = 2\n", "best.0"},
                              {"[[schedule]]\nname = \"plateau\"\n", "schedule.0"}}) {
    const auto refused = refusal(measured(R"(["accuracy"])", table + contrary));
    CHECK(refused.message == "a.toml:11:1: " + rule + says);
    CHECK(refused.hint == "keep one of the two");
    CHECK_NOTHROW(loaded(measured(R"(["accuracy"])", table + "metric = \"-loss\"\n")));
  }
  CHECK(refusal(measured(R"(["accuracy"])", "[[best]]\nmetric = \"loss\"\n[[best]]\nmetric = \"-loss\"\n"))
            .message.starts_with("a.toml:11:1: best.1.metric: another [[best]] has it, too"));
  CHECK(refusal(measured(R"(["accuracy"])", "[early_stop]\npatience = 2\nmetric = \"-ap\"\n"))
            .message.starts_with("a.toml:10:1: early_stop.metric: 'ap' is not among val.metrics"));
}

TEST_CASE("two metrics of one label, and topN without its number, are refused") {
  const std::string one = "[[metric]]\nname = \"top2\"\n";
  CHECK(refusal(measured(R"(["top2"])", one + one)).message ==
        "a.toml:11:1: metric.1.name: another [[metric]] is called so (a.toml:9:1)");
  CHECK_NOTHROW(loaded(measured(R"(["top2", "b"])", one + one + "label = \"b\"\n")));
  const auto any = refusal(measured(R"(["topN"])", "[[metric]]\nname = \"topN\"\n"));
  CHECK(any.message == "a.toml:9:1: metric.0.name: topN stands for top1, top2 and so on");
  CHECK(any.hint == "name = \"top5\", say");
}

TEST_CASE("what is not a single number ranks nothing") {
  for (const std::string metric : {"confusion", "accuracy_per_class", "-confusion"}) {
    CAPTURE(metric);
    const auto refused = refusal(measured(all, "[early_stop]\npatience = 2\nmetric = \"" + metric + "\"\n")).message;
    CHECK(refused == "a.toml:10:1: early_stop.metric: '" + metric.substr(metric.starts_with('-')) +
                         "' is not a single number, so it cannot rank snapshots or end a run");
  }
  CHECK(refusal(measured(all, "[[val.set]]\nname = \"night\"\n[[best]]\nmetric = \"night.confusion\"\n"))
            .message.starts_with("a.toml:11:1: best.0.metric: 'confusion' is not a single number"));
}

TEST_CASE("a metric of one's own is compared as its entry says, by its name or its label") {
  add_metric();
  const auto named = ruling_metric(loaded(measured(R"(["badness"])")));
  CHECK(named.name == "badness");
  CHECK(named.lower_wins);
  const std::string own = "[[metric]]\nname = \"badness\"\nlabel = \"mine\"\nweight = 2\n";
  const auto config = loaded(measured(R"(["mine", "badness"])", own));
  CHECK(ruling_metric(config).name == "mine");
  CHECK(ruling_metric(config).lower_wins);
  CHECK(config.list("metric")[0].real("weight") == 2);
  CHECK(is_single_number("mine", config));
  const auto table = loaded(measured(R"(["mine", "f1"])", "[[metric]]\nname = \"confusion\"\nlabel = \"mine\"\n"));
  CHECK_FALSE(is_single_number("mine", table));
  CHECK(ruling_metric(table).name == "f1");
}

}  // namespace flowtrain::metric_rules_test
