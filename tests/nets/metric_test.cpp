#include "nets/metric.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using namespace flowtrain::nets;

namespace {

/// Rows whose logits fall with the distance from `best`, so that class best + d is the d-th next.
void update(Metric& metric, at::IntArrayRef best, at::IntArrayRef label, std::int64_t classes) {
  const at::Tensor distance = at::arange(classes).unsqueeze(0) - at::tensor(best).unsqueeze(1);
  metric.update({{"logits", -distance.remainder(classes).to(at::kFloat)}}, {{"label", at::tensor(label)}});
}

}  // namespace

TEST_CASE("accuracy is exact over batches of uneven sizes") {
  const auto metric = make_metric("accuracy");
  CHECK(metric->value() == 0);
  update(*metric, {0, 1, 2}, {0, 1, 3}, 10);
  update(*metric, {7}, {8}, 10);
  CHECK(metric->value() == 2.0 / 4);
  update(*metric, {9, 9, 9}, {9, 9, 9}, 10);
  CHECK(metric->value() == 5.0 / 7);
  metric->reset();
  CHECK(metric->value() == 0);
  update(*metric, {1}, {1}, 10);
  CHECK(metric->value() == 1);
}

TEST_CASE("top5 counts the five largest; fewer classes are always right") {
  const auto metric = make_metric("top5");
  update(*metric, {0, 0, 8}, {4, 5, 2}, 10);  // distances 4, 5 and, around the end, 4
  CHECK(metric->value() == 2.0 / 3);
  metric->reset();
  update(*metric, {0, 1}, {2, 0}, 3);
  CHECK(metric->value() == 1);
}

TEST_CASE("an unknown metric lists the known ones") {
  CHECK_THROWS_WITH_AS(make_metric("ap"), "unknown metric 'ap'; known: accuracy, top5", std::invalid_argument);
}
