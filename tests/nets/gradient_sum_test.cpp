#include "nets/optim/gradient_sum.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace flowtrain::gradient_sum_test {

using namespace flowtrain::nets;

TEST_CASE("gradients of several iterations become their mean, and the next sum begins at zero") {
  const at::Tensor w = at::zeros({2}, at::kDouble), unused = at::ones({1}, at::kDouble);
  GradientSum sum({{"w", w}, {"unused", unused}}, 4);
  const auto add = [&](double value, const at::Tensor& skip = {}) {
    w.mutable_grad() = at::full({2}, value, at::kDouble);
    sum.add(skip);
  };
  for (int time = 0; time < 2; ++time) {
    CAPTURE(time);
    add(1);
    add(2, at::zeros({}));
    add(std::numeric_limits<double>::infinity(), at::ones({}));
    add(5);
    CHECK(sum.state().at("gradient_sum.w")[1].item<double>() == 8);
    sum.hand_out();
    CHECK(w.grad()[1].item<double>() == 2);
    CHECK(sum.state().at("gradient_sum.w")[1].item<double>() == 0);
  }
  CHECK(!unused.grad().defined());
  const at::Tensor half = at::zeros({1}, at::kBFloat16);
  GradientSum many({{"half", half}}, 300);
  for (int time = 0; time < 300; ++time) {
    half.mutable_grad() = at::ones({1}, at::kBFloat16);
    many.add();
  }
  CHECK(many.state().at("gradient_sum.half").item<double>() == 300);  // bf16 adds 1 to no more than 256
  CHECK(sum.state().size() == 2);
}

}  // namespace flowtrain::gradient_sum_test
