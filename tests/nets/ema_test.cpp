#include "nets/optim/ema.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

namespace flowtrain::ema_test {

using namespace flowtrain::nets;

namespace {

double value(const at::Tensor& tensor) { return tensor.item<double>(); }

}  // namespace

TEST_CASE("the average follows the weights, faster at first where it warms up") {
  const at::Tensor w = at::ones({1}, at::kDouble);
  Ema plain({{"w", w}}, 0.9, false), warm({{"w", w}}, 0.9, true);
  w.fill_(2);
  plain.update(1);
  warm.update(1);
  CHECK(value(plain.state().at("ema.w")) == doctest::Approx(1.1));
  CHECK(value(warm.state().at("ema.w")) == doctest::Approx(2 - 2.0 / 11));  // decay (1 + 1) / (10 + 1)
  warm.update(1000);
  CHECK(value(warm.state().at("ema.w")) == doctest::Approx(2 - 0.9 * 2.0 / 11));
}

TEST_CASE("the average of weights in half precision is f32, and is not rounded where it takes their place") {
  const at::Tensor w = at::ones({1}, at::kBFloat16);
  Ema ema({{"w", w}}, 0.999, false);
  w.fill_(2);
  for (int iteration = 1; iteration <= 10; ++iteration) ema.update(iteration);
  const double average = 2 - std::pow(0.999, 10);
  CHECK(value(ema.state().at("ema.w")) == doctest::Approx(average));
  ema.swap();
  CHECK(value(w) == doctest::Approx(average).epsilon(0.004));
  ema.swap();
  CHECK(value(w) == 2);
  CHECK(value(ema.state().at("ema.w")) == doctest::Approx(average));
}

TEST_CASE("weights and averages change places, and back") {
  const at::Tensor w = at::ones({1}, at::kDouble);
  Ema ema({{"w", w}}, 0.5, false);
  w.fill_(3);
  ema.update(1);
  ema.swap();
  CHECK(value(w) == 2);
  CHECK(value(ema.state().at("ema.w")) == 3);
  ema.swap();
  CHECK(value(w) == 3);
  ema.restart();
  CHECK(value(ema.state().at("ema.w")) == 3);
  CHECK_THROWS_AS(Ema({{"w", w}}, 1, false), std::invalid_argument);
}

}  // namespace flowtrain::ema_test
