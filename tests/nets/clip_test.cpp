#include "nets/optim/clip.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace flowtrain::clip_test {

using namespace flowtrain::nets;
using doctest::Approx;

namespace {

/// Three parameters, of which the last has no gradient. The gradients' norms: 2 7, 1 11, the greatest 6.
NamedTensors made() {
  NamedTensors parameters{{"a", at::zeros({2}).requires_grad_()},
                          {"b", at::zeros({1}).requires_grad_()},
                          {"c", at::zeros({4}).requires_grad_()}};
  parameters.at("a").mutable_grad() = at::tensor({2.0F, -3.0F});
  parameters.at("b").mutable_grad() = at::tensor({6.0F});
  return parameters;
}

double gradient(const NamedTensors& parameters, const char* name, int i) {
  return parameters.at(name).grad()[i].item<double>();
}

}  // namespace

TEST_CASE("clipping by norm scales all gradients together, down only") {
  auto parameters = made();
  auto clipped = clip_gradients(parameters, {ClipBy::norm, 3.5});
  CHECK(clipped.norm.item<double>() == Approx(7));
  CHECK(clipped.cut.item<double>() == 1);
  CHECK(gradient(parameters, "a", 1) == Approx(-1.5));
  CHECK(gradient(parameters, "b", 0) == Approx(3));
  clipped = clip_gradients(parameters, {ClipBy::norm, 10});
  CHECK(clipped.norm.item<double>() == Approx(3.5));
  CHECK(clipped.cut.item<double>() == 0);
  CHECK(gradient(parameters, "b", 0) == Approx(3));

  parameters = made();
  CHECK(clip_gradients(parameters, {ClipBy::norm, 5.5, 1}).norm.item<double>() == Approx(11));
  CHECK(gradient(parameters, "b", 0) == Approx(3));
  parameters = made();
  CHECK(clip_gradients(parameters, {ClipBy::norm, 3, std::numeric_limits<double>::infinity()}).norm.item<double>() ==
        Approx(6));
  CHECK(gradient(parameters, "a", 1) == Approx(-1.5));
}

TEST_CASE("gradients in half precision are measured and counted in f32") {
  const at::Tensor w = at::zeros({600}, at::kBFloat16), b = at::zeros({1});
  for (const auto by : {ClipBy::norm, ClipBy::value, ClipBy::adaptive}) {
    w.mutable_grad() = at::ones({600}, at::kBFloat16);
    b.mutable_grad() = at::ones({1});
    const auto clipped = clip_gradients({{"w", w}, {"b", b}}, {by, 0.5});
    CHECK(clipped.norm.item<double>() == Approx(std::sqrt(601.0)));
    CHECK((clipped.cut.scalar_type() == at::kFloat));
    CHECK(clipped.cut.item<double>() == 1);
    CHECK(w.grad().max().item<double>() <= 0.5);
  }
}

TEST_CASE("clipping by value cuts each element off") {
  auto parameters = made();
  const auto clipped = clip_gradients(parameters, {ClipBy::value, 2.5});
  CHECK(clipped.norm.item<double>() == Approx(7));
  CHECK(clipped.cut.item<double>() == 1);
  CHECK(gradient(parameters, "a", 0) == 2);
  CHECK(gradient(parameters, "a", 1) == -2.5);
  CHECK(gradient(parameters, "b", 0) == 2.5);
  CHECK(clip_gradients(parameters, {ClipBy::value, 2.5}).cut.item<double>() == 0);
}

TEST_CASE("adaptive clipping goes by each unit's weights") {
  NamedTensors parameters{{"w", at::zeros({2, 2}).requires_grad_()}, {"b", at::zeros({2}).requires_grad_()}};
  parameters.at("w").detach().copy_(at::tensor({3.0F, 4.0F, 0.0F, 0.0F}).reshape({2, 2}));
  parameters.at("w").mutable_grad() = at::tensor({0.0F, 10.0F, 3.0F, 4.0F}).reshape({2, 2});
  parameters.at("b").mutable_grad() = at::tensor({0.0F, 0.0F});
  CHECK(clip_gradients(parameters, {ClipBy::adaptive, 0.1}).cut.item<double>() == 1);
  const at::Tensor cut = parameters.at("w").grad();
  CHECK(cut[0][1].item<double>() == Approx(0.5));       // 0.1 · |(3, 4)|
  CHECK(cut[1].norm().item<double>() == Approx(1e-4));  // weights of zero count as 0.001
  CHECK(clip_gradients(parameters, {ClipBy::adaptive, 0.1 + 1e-4}).cut.item<double>() == 0);
}

TEST_CASE("without a limit gradients are measured only") {
  const auto parameters = made();
  const auto clipped = clip_gradients(parameters, {});
  CHECK(clipped.norm.item<double>() == Approx(7));
  CHECK_FALSE(clipped.cut.defined());
  CHECK(gradient(parameters, "b", 0) == 6);
  CHECK(clip_gradients({{"c", at::zeros({4})}}, {ClipBy::norm, 1}).norm.item<double>() == 0);
  CHECK_THROWS_AS(clip_gradients(parameters, {ClipBy::norm, -1}), std::invalid_argument);
  CHECK_THROWS_AS(clip_gradients(parameters, {ClipBy::norm, 1, 0}), std::invalid_argument);
}

}  // namespace flowtrain::clip_test
