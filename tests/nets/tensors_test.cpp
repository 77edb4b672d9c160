#include "nets/tensors.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace flowtrain::tensors_test {

using flowtrain::nets::NamedTensors;

TEST_CASE("named tensors keep the order they were added in; set replaces in place") {
  NamedTensors tensors{{"b", at::zeros({1})}, {"a", at::zeros({2})}};
  tensors.set("c", at::zeros({3}));
  tensors.set("b", at::zeros({4}));
  std::string order;
  for (const auto& [name, tensor] : tensors) order += name + std::to_string(tensor.numel());
  CHECK(order == "b4a2c3");
  CHECK(tensors.size() == 3);
  CHECK(tensors.contains("a"));
  CHECK_FALSE(tensors.contains("d"));
}

TEST_CASE("a missing name is told together with those that are there") {
  const NamedTensors two{{"image", at::zeros({1})}, {"label", at::zeros({1})}};
  CHECK_THROWS_WITH_AS(two.at("mask"), "no tensor named 'mask'; there are: image, label", std::invalid_argument);
  CHECK_THROWS_WITH_AS(NamedTensors().at("mask"), "no tensor named 'mask'; there are: none", std::invalid_argument);
}

}  // namespace flowtrain::tensors_test
