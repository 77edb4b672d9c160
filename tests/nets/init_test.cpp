#include "nets/models/init.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

namespace flowtrain::init_test {

using namespace flowtrain::nets;
using doctest::Approx;

namespace {

/// Two fans, 288 in and 576 out, and enough values for their spread to be known to a hundredth.
at::Tensor drawn(const InitRule& rule, at::IntArrayRef shape = {64, 32, 3, 3}) {
  at::manual_seed(7);
  at::Tensor tensor = at::full(shape, NAN);
  initialise(tensor, rule);
  return tensor;
}

double spread(const at::Tensor& tensor) { return tensor.std().item<double>(); }
double middle(const at::Tensor& tensor) { return tensor.mean().item<double>(); }
double least(const at::Tensor& tensor) { return tensor.min().item<double>(); }
double greatest(const at::Tensor& tensor) { return tensor.max().item<double>(); }

}  // namespace

TEST_CASE("rules that go by a layer's fans") {
  const double in = 32 * 9, out = 64 * 9;
  CHECK(spread(drawn({.name = "kaiming_normal"})) == Approx(std::sqrt(2 / in)).epsilon(0.02));
  CHECK(spread(drawn({.name = "kaiming_normal", .fan_out = true})) == Approx(std::sqrt(2 / out)).epsilon(0.02));
  CHECK(spread(drawn({.name = "kaiming_normal", .nonlinearity = "linear"})) == Approx(std::sqrt(1 / in)).epsilon(0.02));
  CHECK(spread(drawn({.name = "kaiming_normal", .nonlinearity = "tanh"})) ==
        Approx(5.0 / 3 / std::sqrt(in)).epsilon(0.02));
  const InitRule leaky{.name = "kaiming_normal", .nonlinearity = "leaky_relu", .negative_slope = 1};
  CHECK(spread(drawn(leaky)) == Approx(std::sqrt(1 / in)).epsilon(0.02));
  CHECK(greatest(drawn({.name = "kaiming_uniform"})) == Approx(std::sqrt(6 / in)).epsilon(0.01));
  CHECK(spread(drawn({.name = "xavier_normal", .gain = 3})) == Approx(3 * std::sqrt(2 / (in + out))).epsilon(0.02));
  CHECK(-least(drawn({.name = "xavier_uniform"})) == Approx(std::sqrt(6 / (in + out))).epsilon(0.01));
}

TEST_CASE("rules that do not") {
  CHECK(drawn({.name = "constant", .value = 0.5}, {3}).equal(at::full({3}, 0.5)));
  const at::Tensor normal = drawn({.name = "normal", .mean = 5, .std = 0.1});
  CHECK(middle(normal) == Approx(5).epsilon(0.001));
  CHECK(spread(normal) == Approx(0.1).epsilon(0.02));
  const at::Tensor uniform = drawn({.name = "uniform", .range = {-1, 3}});
  CHECK(least(uniform) == Approx(-1).epsilon(0.01));
  CHECK(greatest(uniform) == Approx(3).epsilon(0.01));

  // Cut off at two standard deviations, a normal distribution's own is 0.8796 of what it was.
  const at::Tensor truncated = drawn({.name = "trunc_normal", .mean = 1, .std = 0.5});
  CHECK(least(truncated) >= 0);
  CHECK(greatest(truncated) <= 2);
  CHECK(spread(truncated) == Approx(0.5 * 0.8796).epsilon(0.02));
  const at::Tensor half = drawn({.name = "trunc_normal", .std = 1, .range = {0, 10}});
  CHECK(least(half) >= 0);
  CHECK(middle(half) == Approx(std::sqrt(2 / std::acos(-1.0))).epsilon(0.02));

  const at::Tensor rows = drawn({.name = "orthogonal", .gain = 2}, {16, 8, 3, 3}).flatten(1);
  CHECK(rows.mm(rows.t()).allclose(4 * at::eye(16), 0, 1e-5));
}

TEST_CASE("the same seed gives the same values; what learned before, learns after") {
  const InitRule rule{.name = "kaiming_normal"};
  CHECK(drawn(rule).equal(drawn(rule)));
  at::Tensor learned = at::zeros({4, 4}).requires_grad_();
  initialise(learned, rule);
  CHECK(learned.is_leaf());
  CHECK(learned.requires_grad());
}

TEST_CASE("every rule can be used, and no other; some need two dimensions") {
  for (auto& name : init_rule_names()) {
    CAPTURE(name);
    CHECK(drawn({.name = name, .range = {-1, 1}}, {8, 4}).isfinite().all().item<bool>());
  }
  CHECK_THROWS_WITH_AS(drawn({.name = "xavier_normal"}, {3}),
                       "xavier_normal is for tensors of 2 dimensions or more, but this one has 1",
                       std::invalid_argument);
  CHECK_THROWS_AS(drawn({.name = "kaiming_uniform"}, {}), std::invalid_argument);
  CHECK_THROWS_AS(drawn({.name = "orthogonal"}, {3}), std::invalid_argument);
  CHECK_THROWS_AS(drawn({.name = "kaiming"}), std::invalid_argument);
  CHECK_THROWS_AS(drawn({.name = "kaiming_normal", .nonlinearity = "mish"}), std::invalid_argument);
}

}  // namespace flowtrain::init_test
