#include <torch/torch.h>

#include <barrier>
#include <thread>

#include "nets/layers/batch_norm.h"
#include "nets/net.h"
#include "sampling/core/mistake.h"
#include "tests/support/parts.h"

#undef CHECK  // glog's, which torch.h brings along
#include <doctest/doctest.h>

namespace flowtrain::nets::batch_norm_test {
namespace {

constexpr int bn_parts = 2;

/// Sums tensors over threads that stand for processes.
class ThreadSum {
 public:
  void operator()(int part, at::Tensor& values) {
    given_[part] = values.clone();
    all_here_.arrive_and_wait();
    values.copy_(given_[0] + given_[1]);
    all_here_.arrive_and_wait();  // before the next sum overwrites what the other still reads
  }

 private:
  at::Tensor given_[bn_parts];
  std::barrier<> all_here_{bn_parts};
};

std::unique_ptr<Net> resnet() {
  torch::manual_seed(5);
  auto net = testing::make_net({"resnet18", {.classes = 3, .height = 32, .width = 32}});
  net->to(torch::kCPU, false);
  net->train(true);
  return net;
}

struct Result {
  at::Tensor logits;
  NamedTensors gradients, buffers;
};

Result run(Net& net, const at::Tensor& image, const at::Tensor& weights) {
  NamedTensors batch;
  batch.set("image", image);
  Result result;
  result.logits = net.forward(batch).at("logits");
  (result.logits * weights).sum().backward();
  for (auto& [name, tensor] : net.parameters()) result.gradients.set(name, tensor.grad());
  for (auto& [name, tensor] : net.buffers()) result.buffers.set(name, tensor.clone());
  return result;
}

double apart(const at::Tensor& a, const at::Tensor& b) {
  const double largest = std::max(b.abs().max().item<double>(), 1e-3);
  return (a - b).abs().max().item<double>() / largest;
}

}  // namespace

TEST_CASE("batch norm over two parts of unequal size is that over the whole batch: outputs, gradients, statistics") {
  torch::manual_seed(6);
  const auto image = torch::randn({8, 3, 32, 32}), weights = torch::randn({8, 3});
  const auto whole_net = resnet();
  const Result whole = run(*whole_net, image, weights);

  ThreadSum sum;
  std::unique_ptr<Net> nets[bn_parts] = {resnet(), resnet()};
  Result parts[bn_parts];
  {
    std::vector<std::jthread> threads;
    for (int part = 0; part < bn_parts; ++part)
      threads.emplace_back([&, part] {
        const int from = part * 3, rows = part == 0 ? 3 : 5;
        nets[part]->span_batch_norm([&sum, part](at::Tensor& values) { sum(part, values); });
        parts[part] = run(*nets[part], image.narrow(0, from, rows), weights.narrow(0, from, rows));
      });
  }
  CHECK(apart(at::cat({parts[0].logits, parts[1].logits}), whole.logits) < 1e-4);
  for (auto& [name, gradient] : whole.gradients) {
    CAPTURE(name);
    CHECK(apart(parts[0].gradients.at(name) + parts[1].gradients.at(name), gradient) < 1e-3);
  }
  for (auto& [name, buffer] : whole.buffers) {
    CAPTURE(name);
    for (auto& part : parts) CHECK(apart(part.buffers.at(name).to(torch::kFloat32), buffer.to(torch::kFloat32)) < 1e-4);
  }
}

TEST_CASE("in eval mode nothing is summed") {
  const auto net = resnet();
  net->span_batch_norm([](at::Tensor&) { FAIL_CHECK("no process was to be asked"); });
  net->train(false);
  NamedTensors batch;
  batch.set("image", torch::zeros({1, 3, 32, 32}));
  CHECK(net->forward(batch).at("logits").size(0) == 1);
}

TEST_CASE("one value per channel is refused where statistics are taken of it") {
  BatchNorm2d norm(4);
  const at::Tensor one = at::ones({1, 4, 1, 1});
  CHECK_THROWS_AS(norm(one), Mistake);
  norm(at::ones({1, 4, 1, 2}));
  norm(at::ones({2, 4, 1, 1}));
  norm->eval();
  CHECK(norm(one).sizes() == one.sizes());
}

}  // namespace flowtrain::nets::batch_norm_test
