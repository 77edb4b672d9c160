// The first operation whose result is not finite, told by its name and its layer.

#include "nets/diagnostics/op_watch.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/autograd.h>
#include <torch/script.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "nets/net.h"
#undef CHECK
#include <doctest/doctest.h>

#include "tests/support/parts.h"

namespace flowtrain::op_watch_test {

using namespace flowtrain::nets;
using flowtrain::testing::make_net;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::unique_ptr<Net> small_mlp() {
  auto net = make_net({"mlp", {3, 1, 4, 4}, {{"hidden", std::vector<std::int64_t>{8, 8}}}});
  const at::NoGradGuard no_gradients;
  for (const auto& [name, tensor] : net->parameters()) tensor.fill_(0.1);
  net->train(true);
  return net;
}

at::Tensor logits(Net& net, const at::Tensor& image) {
  RECORD_USER_SCOPE("net");
  return net.forward({{"image", image}}).at("logits");
}

void scale(const Net& net, const std::string& parameter, double factor) {
  const at::NoGradGuard no_gradients;
  net.parameters().at(parameter).mul_(factor);
}

}  // namespace

TEST_CASE("a pass in which all is finite is told to be so, and computes what it always does") {
  const auto net = small_mlp();
  const at::Tensor image = at::ones({5, 1, 4, 4});
  const at::Tensor before = logits(*net, image).sum();
  OpWatch watch(net->parameters());
  const at::Tensor sum = logits(*net, image).sum();
  sum.backward();
  CHECK_FALSE(watch.first());
  CHECK(sum.item<float>() == before.item<float>());
}

TEST_CASE("forward: the operation, its layer, and what it made, by rows") {
  const auto net = small_mlp();
  scale(*net, "layers.1.weight", 1e30);
  at::Tensor image = at::ones({5, 1, 4, 4});
  image[3].fill_(1e15f);
  OpWatch watch(net->parameters());
  const at::Tensor result = logits(*net, image);
  REQUIRE(watch.first());
  CHECK(watch.first()->operation == "aten::addmm");
  CHECK(watch.first()->place.layer == "layers.1");
  CHECK_FALSE(watch.first()->place.after);
  CHECK(watch.first()->scope == "net");
  const at::Tensor made = watch.first()->made;
  CHECK(made.sizes() == at::IntArrayRef({5, 8}));
  CHECK(at::isfinite(made).all(1).sum().item<int>() == 4);
  CHECK_FALSE(at::isfinite(made[3]).all().item<bool>());
  CHECK_FALSE(at::isfinite(result[3]).all().item<bool>());
}

TEST_CASE("an operation without parameters is told by the layer before it") {
  const auto net = small_mlp();
  OpWatch watch(net->parameters());
  const at::Tensor loss = (logits(*net, at::ones({2, 1, 4, 4})) * 0).log().sum();
  REQUIRE(watch.first());
  CHECK(watch.first()->operation == "aten::log");
  CHECK(watch.first()->place.layer == "layers.2");
  CHECK(watch.first()->place.after);
  CHECK(watch.first()->scope.empty());
}

TEST_CASE("backward: the layer is that of the operation in forward") {
  const auto net = small_mlp();
  scale(*net, "layers.1.weight", 1e30);
  scale(*net, "layers.0.weight", 1e-30);
  scale(*net, "layers.0.bias", 1e-30);
  OpWatch watch(net->parameters());
  const at::Tensor result = logits(*net, at::ones({2, 1, 4, 4}));
  CHECK_FALSE(watch.first());
  (result.sum() * 1e10).backward();
  REQUIRE(watch.first());
  CHECK(watch.first()->operation == "aten::mm");
  CHECK(watch.first()->scope == "backward");
  CHECK(watch.first()->place.layer == "layers.1");
  CHECK(watch.first()->made.sizes() == at::IntArrayRef({2, 8}));
}

TEST_CASE("gradients can be left aside") {
  const auto net = small_mlp();
  OpWatch watch(net->parameters(), /*forward_only=*/true);
  (logits(*net, at::ones({2, 1, 4, 4})) * 0).sqrt().sum().backward();
  CHECK_FALSE(watch.first());
}

TEST_CASE("a square root's gradient at zero belongs to what comes after the last layer") {
  const auto net = small_mlp();
  OpWatch watch(net->parameters());
  (logits(*net, at::ones({2, 1, 4, 4})) * 0).sqrt().sum().backward();
  REQUIRE(watch.first());
  CHECK(watch.first()->scope == "backward");
  CHECK(watch.first()->place.layer == "layers.2");
  CHECK(watch.first()->place.after);
}

TEST_CASE("a mask's infinities are meant, what they turn into NaN is not") {
  const at::Tensor scores = at::zeros({2, 3}), all = at::ones({2, 3}, at::kBool), none = at::zeros({2, 3}, at::kBool);
  {
    OpWatch watch({});
    const auto some = scores.masked_fill(none, -infinity).softmax(1);
    const auto masked = scores.masked_fill(all, -infinity);
    CHECK_FALSE(watch.first());
  }
  OpWatch watch({});
  const auto probabilities = scores.masked_fill(all, -infinity).softmax(1);
  REQUIRE(watch.first());
  CHECK(watch.first()->operation == "aten::_softmax");
  CHECK(watch.first()->place.layer.empty());
}

TEST_CASE("a script's operations are seen like any net's") {
  torch::jit::Module inner("Inner"), outer("Outer");
  inner.register_parameter("weight", at::full({3, 16}, 1e38f).requires_grad_(), /*is_buffer=*/false);
  inner.define("def forward(self, x):\n    return torch.linear(x, self.weight)\n");
  outer.register_module("head", inner);
  outer.define("def forward(self, x):\n    return self.head.forward(x.flatten(1) * 2)\n");
  const auto file = std::filesystem::temp_directory_path() / ("flowtrain-watch-" + std::to_string(::getpid()) + ".pt");
  outer.save(file.string());
  const auto net = make_net({"script", {}, {{"script", file.string()}}});
  std::filesystem::remove(file);
  OpWatch watch(net->parameters());
  logits(*net, at::ones({2, 1, 4, 4}));
  REQUIRE(watch.first());
  CHECK(watch.first()->place.layer == "head");
  CHECK(watch.first()->scope == "net");
}

}  // namespace flowtrain::op_watch_test
