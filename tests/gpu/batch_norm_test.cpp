// Batch normalisation that spans processes, on the device: its values, and that it does not wait for them.

#include "nets/layers/batch_norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#undef CHECK  // glog's, which torch brings along
#include <doctest/doctest.h>

#include <vector>

#include "stages/device/device_graph.h"
#include "tests/gpu/test_device.h"

namespace flowtrain::batch_norm_test {

using testing::test_device;

namespace {

constexpr std::int64_t channels = 5;

/// A layer of a world of one, and what a forward and a backward in it leave.
struct Layer {
  explicit Layer(at::Device device) : norm(torch::nn::BatchNorm2dOptions(channels)) {
    at::manual_seed(3);
    norm->span([](at::Tensor&) {});
    norm->train();
    image = at::rand({4, channels, 6, 7}).to(device).requires_grad_();
    weights = at::rand(image.sizes()).to(device);
    norm->to(device);
  }

  void step() {
    result = norm->forward(image);
    gradients = torch::autograd::grad({(result * weights).sum()}, {image, norm->weight, norm->bias});
  }
  std::vector<at::Tensor> all() const {
    std::vector<at::Tensor> values{result.detach().cpu(), norm->running_mean.cpu(), norm->running_var.cpu()};
    for (auto& gradient : gradients) values.push_back(gradient.cpu());
    return values;
  }

  nets::BatchNorm2d norm;
  at::Tensor image, weights, result;
  std::vector<at::Tensor> gradients;
};

void check_alike(const std::vector<at::Tensor>& ours, const std::vector<at::Tensor>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(at::allclose(ours[i], expected[i], 1e-4, 1e-5));
  }
}

}  // namespace

TEST_CASE("batch normalisation over processes gives on a device what it gives on the CPU") {
  Layer there(test_device()), here(at::kCPU);
  there.step();
  here.step();
  check_alike(there.all(), here.all());
}

TEST_CASE("batch normalisation over processes does not wait for the device: a graph can hold it") {
  SKIP_WITHOUT_GPU();
  Layer there(test_device()), here(at::kCPU);
  here.step();
  const auto graph = cuda_work_graphs(test_device().index())();
  graph->capture([&] { there.step(); });
  graph->replay();
  check_alike(there.all(), here.all());
}

}  // namespace flowtrain::batch_norm_test
