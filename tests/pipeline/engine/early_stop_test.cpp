#include "pipeline/engine/validation/early_stop.h"

#include <doctest/doctest.h>

#include <cmath>

#include "pipeline/engine/validation/best.h"
#include "tests/pipeline/engine/hyper_parameters.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::early_stop_test {

using namespace flowtrain::testing;

namespace {

/// After how many of the validations the rule ends the run; 0: it does not.
std::size_t stops_after(const EarlyStop& rule, const std::vector<double>& values) {
  EarlyStopState state;
  for (std::size_t i = 0; i < values.size(); ++i) {
    rule.record(state, {{"other", 0.0}, {rule.improvement.of.name, values[i]}});
    if (!rule.reason(state).empty()) return i + 1;
  }
  return 0;
}

}  // namespace

TEST_CASE("a run stops when its metric has not improved for as long as patience lasts") {
  EarlyStop rule{.improvement = {{"accuracy"}}, .patience = 2};
  CHECK(stops_after(rule, {0.5, 0.6, 0.6, 0.55}) == 4);
  CHECK(stops_after(rule, {0.5, 0.5, 0.6, 0.6, 0.7, 0.7}) == 0);
  CHECK(stops_after(rule, {0.5, std::nan(""), std::nan("")}) == 3);
  CHECK(stops_after(rule, {0.5, 0.4, 0.3, 0.3, 0.3}) == 3);
  rule.improvement.of.lower_wins = true;
  CHECK(stops_after(rule, {0.5, 0.4, 0.3, 0.3, 0.3}) == 5);
  CHECK(stops_after(rule, {0.3, 0.4, 0.5}) == 3);
  rule.patience = 0;
  CHECK(stops_after(rule, {1, 2, 3, 4, 5, 6}) == 0);
}

TEST_CASE("what is hardly better does not count") {
  EarlyStop rule{.improvement = {.of = {"loss", true}, .min_delta = 0.1}, .patience = 2};
  CHECK(stops_after(rule, {1.0, 0.95, 0.92}) == 3);
  CHECK(stops_after(rule, {1.0, 0.95, 0.89, 0.85, 0.7}) == 0);
  rule.improvement.relative = true;
  CHECK(stops_after(rule, {10, 9.5, 9.2}) == 3);
  CHECK(stops_after(rule, {10, 9.5, 8.9}) == 0);
}

TEST_CASE("a metric that is missing is no improvement") {
  const EarlyStop rule{.improvement = {{"ap"}}, .patience = 1};
  EarlyStopState state;
  rule.record(state, {{"loss", 1.0}});
  CHECK(rule.reason(state) == "ap has not improved in 1 validations: early_stop.patience");
}

TEST_CASE("rules go by the metric that a configuration names, and by what it says is better") {
  const TempFolder folder;
  const auto loaded = [&](const std::string& more) {
    return load_config(folder.write("c.toml", "[data]\ndataset = \"shapes\"\n[val]\nevery = 5\n" + more));
  };
  const auto of = [&](const std::string& keys) {
    return EarlyStop::from(loaded("[early_stop]\npatience = 2\nmin_delta = 0.5\nrelative = true\n" + keys)).improvement;
  };
  CHECK(of("").of.name == "accuracy");
  CHECK_FALSE(of("").of.lower_wins);
  CHECK(of("metric = \"-loss\"\n").of.name == "loss");
  CHECK(of("metric = \"-loss\"\n").of.lower_wins);
  CHECK(of("mode = \"min\"\n").of.lower_wins);
  CHECK(of("").min_delta == 0.5);
  CHECK(of("").relative);

  const auto measured = [](const std::string& scalar) { return scalar == "loss"; };
  const auto plateau_of = [&](const std::string& keys) {
    return stateful_schedules(loaded("[[schedule]]\nname = \"plateau\"\npatience = 0\noptim = \"sgd\"\n" + keys), 10,
                              100, measured);
  };
  for (auto& [keys, factor] : {std::pair{"metric = \"loss\"\n", 1.0},
                               {"metric = \"loss\"\nmode = \"max\"\n", 0.1},
                               {"metric = \"accuracy\"\n", 1.0}}) {
    CAPTURE(keys);
    const auto all = plateau_of(keys);
    REQUIRE(all.size() == 1);
    for (const double loss : {1.0, 0.5}) all[0].schedule->record({{"loss", loss}}, 1);  // accuracy is never measured
    HyperParameters hyper{1, 0.9, 1};
    all[0].apply("sgd", 1, hyper);
    CHECK(hyper.lr == doctest::Approx(factor));
    CHECK(hyper.momentum == 0.9);
  }

  const auto rules = BestRule::all(loaded("[[best]]\nmetric = \"accuracy\"\n[[best]]\nmetric = \"-loss\"\n"));
  REQUIRE(rules.size() == 2);
  CHECK_FALSE(rules[0].of.lower_wins);
  CHECK(rules[1].of.name == "loss");
  CHECK(rules[1].of.lower_wins);
  CHECK(rules[1].link == "best-loss");
  CHECK(BestRule::all(loaded("")).front().of.name == "accuracy");
}

TEST_CASE("values of another metric or direction are not compared") {
  EarlyStopState state{BestValue{{"accuracy"}, 0.9}, 7};
  const EarlyStop rule{.improvement = {{"loss", true}}, .patience = 2};
  CHECK(rule.reason(state).empty());
  rule.record(state, {{"loss", 2.0}});
  CHECK(state.best->of == RuledMetric{"loss", true});
  CHECK(state.best->value == 2);
  CHECK(state.since == 0);

  Rankings rankings{{"best", {{"accuracy"}, {{10, 0.9}}}}, {"best-f1", {{"f1"}, {{10, 0.5}}}}};
  const std::vector<BestRule> rules{{.of = {"loss", true}}, {.of = {"f1"}, .link = "best-f1"}};
  CHECK(forget_other_metrics(rules, rankings) ==
        std::vector<std::string>{"'best' was ranked by accuracy (higher is better) and is now by loss (lower is "
                                 "better): the ranking begins again"});
  CHECK(rankings == Rankings{{"best-f1", {{"f1"}, {{10, 0.5}}}}});
  CHECK(rules[0].record(rankings, 20, {{"loss", 2.0}}) == std::size_t{0});
}

TEST_CASE("hours of training are over") {
  const EarlyStop rule{.hours = 0.5};
  CHECK_FALSE(rule.out_of_time(1799));
  CHECK(rule.out_of_time(1800));
  CHECK_FALSE(EarlyStop{}.out_of_time(1e9));
}

TEST_CASE("a plateau lowers its rate as torch's ReduceLROnPlateau does") {
  // Factors after each validation; torch 2.11 gives the same with factor 0.1, patience 1, cooldown 2, min_lr 0.002 ·
  // lr.
  const auto rule = plateau({{"patience", std::int64_t{1}}, {"cooldown", std::int64_t{2}}, {"min_factor", 0.002}});
  const double losses[] = {1.0, 0.9, 0.9, 0.9, 0.95, 0.95, 0.95, 0.95, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6};
  const double factors[] = {1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.002, 0.002, 0.002, 0.002};
  for (std::size_t i = 0; i < std::size(losses); ++i) {
    rule.schedule->record({{"loss", losses[i]}}, 1);
    CAPTURE(i);
    CHECK(rule.schedule->apply(1, 1) == doctest::Approx(factors[i]));
  }
  HyperParameters hyper{0.1, 0.9, 1};
  rule.apply("sgd", 1, hyper);
  CHECK(hyper.lr == doctest::Approx(0.0002));
  CHECK(hyper.momentum == 0.9);
}

}  // namespace flowtrain::early_stop_test
