#include "pipeline/validation/early_stop.h"
#include "pipeline/validation/plateau.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sampling/core/settings.h"

using namespace flowtrain;

namespace {

/// After how many of the validations the rule ends the run; 0: it does not.
std::size_t stops_after(const EarlyStop& rule, const std::vector<double>& values) {
  EarlyStopState state;
  for (std::size_t i = 0; i < values.size(); ++i) {
    rule.enter(state, {{"other", 0.0}, {rule.improvement.metric, values[i]}});
    if (!rule.reason(state).empty()) return i + 1;
  }
  return 0;
}

}  // namespace

TEST_CASE("a run stops when its metric has not improved for as long as patience lasts") {
  EarlyStop rule{.improvement = {"accuracy"}, .patience = 2};
  CHECK(stops_after(rule, {0.5, 0.6, 0.6, 0.55}) == 4);
  CHECK(stops_after(rule, {0.5, 0.5, 0.6, 0.6, 0.7, 0.7}) == 0);
  CHECK(stops_after(rule, {0.5, std::nan(""), std::nan("")}) == 3);
  rule.improvement.metric = "loss";
  CHECK(stops_after(rule, {0.5, 0.4, 0.3, 0.3, 0.3}) == 5);
  rule.improvement.metric = "error_rate";
  CHECK(stops_after(rule, {1.5, 0.4, 0.3, 0.3, 0.3}) == 5);
  rule.patience = 0;
  CHECK(stops_after(rule, {1, 2, 3, 4, 5, 6}) == 0);
}

TEST_CASE("what is hardly better does not count") {
  EarlyStop rule{.improvement = {"loss", 0.1}, .patience = 2};
  CHECK(stops_after(rule, {1.0, 0.95, 0.92}) == 3);
  CHECK(stops_after(rule, {1.0, 0.95, 0.89, 0.85, 0.7}) == 0);
  rule.improvement.relative = true;
  CHECK(stops_after(rule, {10, 9.5, 9.2}) == 3);
  CHECK(stops_after(rule, {10, 9.5, 8.9}) == 0);
}

TEST_CASE("a metric that is missing is no improvement") {
  const EarlyStop rule{.improvement = {"ap"}, .patience = 1};
  EarlyStopState state;
  rule.enter(state, {{"loss", 1.0}});
  CHECK(rule.reason(state) == "ap has not improved in 1 validations: early_stop.patience");
}

TEST_CASE("the first metric that is one figure rules") {
  Settings val("val", {{"metrics", Kind::texts, std::vector<std::string>{}, ""}});
  const auto ruling = [&](std::vector<std::string> metrics) {
    val.set("metrics", std::move(metrics), {});
    return ruling_metric(val);
  };
  CHECK(ruling({"confusion", "accuracy_per_class", "f1", "accuracy"}) == "f1");
  CHECK(ruling({"confusion"}) == "loss");
  CHECK(ruling({}) == "loss");
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
  const Plateau rule{.improvement = {"loss"}, .patience = 1, .cooldown = 2, .decay_rate = 10, .min_factor = 0.002};
  PlateauState state;
  const double losses[] = {1.0, 0.9, 0.9, 0.9, 0.95, 0.95, 0.95, 0.95, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6};
  const double factors[] = {1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.002, 0.002, 0.002, 0.002};
  for (std::size_t i = 0; i < std::size(losses); ++i) {
    rule.enter(state, {{"loss", losses[i]}});
    CAPTURE(i);
    CHECK(state.factor == doctest::Approx(factors[i]));
  }
  Rates rates{0.1, 0.9, 1};
  rule.apply(state, "sgd", rates);
  CHECK(rates.lr == doctest::Approx(0.0002));
  CHECK(rates.momentum == 0.9);
}
