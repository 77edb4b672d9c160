// Gradients of a world of one on its real backend: what comes back is what went, or nearly, and the flags with it.

#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "pipeline/base/distributed/gpu_backend.h"
#include "pipeline/base/telemetry/guard.h"
#include "stages/torch/parallel/data_parallel.h"
#include "stages/torch/readout.h"
#include "tests/gpu/test_device.h"

namespace flowtrain::exchange_test {

using testing::test_device;

namespace {

c10::intrusive_ptr<c10d::ProcessGroup> lone_processes(std::chrono::milliseconds timeout) {
  using c10d::ProcessGroupGloo;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  auto processes = make_gloo_group(store, 0, 1, [timeout] {
    auto options = ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(ProcessGroupGloo::createDeviceForHostname("127.0.0.1", true));
    return options;
  });
  if (!test_device().is_cpu())
    add_gpu_backend(*processes, store, processes->getBackend(c10::DeviceType::CPU), "nccl", test_device().str(),
                    timeout);
  return processes;
}

/// Two layers, with an exchange for each of `passes`; of two the second learns the second layer only.
struct Net {
  explicit Net(TorchGroup& group, const DataParallelOptions& options, int passes = 1) {
    torch::manual_seed(1);
    for (const auto& sizes : {std::vector<std::int64_t>{300, 40}, std::vector<std::int64_t>{40, 7}})
      layers.push_back(torch::rand(sizes).to(test_device()).requires_grad_());
    if (passes == 1) {
      parts.push_back(std::make_unique<DataParallel>(
          group, nets::NamedTensors{{"first", layers[0]}, {"second", layers[1]}}, 1, options));
    } else {
      for (const std::size_t i : {0u, 1u})
        parts.push_back(std::make_unique<DataParallel>(group, nets::NamedTensors{{"own", layers[i]}}, 1, options));
    }
  }

  at::Tensor loss(int number) const {
    torch::manual_seed(static_cast<std::uint64_t>(number));
    const at::Tensor x = torch::rand({16, 300}).to(test_device());
    return x.matmul(layers[0]).tanh().matmul(layers[1]).square().mean();
  }

  std::vector<at::Tensor> layers;
  std::vector<std::unique_ptr<DataParallel>> parts;
};

std::vector<at::Tensor> plain_gradients(const Net& net, int first, int losses) {
  at::Tensor sum = net.loss(first);
  for (int i = 1; i < losses; ++i) sum = sum + net.loss(first + i);
  return torch::autograd::grad({sum}, net.layers);
}

StepFlags flag(Flag flag) {
  StepFlags flags;
  flags[flag] = 1;
  return flags;
}

struct Told {
  double scalar;
  StepFlags flags;
};

Told reported(DataParallel& parallel) {
  Readout read;
  const auto scalars = read.ask(parallel.scalars()), flags = read.ask(parallel.flags());
  read.fetch();
  return {read.one(scalars), parallel.stats(read[flags]).flags};
}

}  // namespace

TEST_CASE("gradients that were exchanged are those of a plain backward, and flags come with them") {
  TorchGroup group(lone_processes(std::chrono::minutes(2)), std::make_shared<CollectiveLog>());
  for (const std::optional<at::ScalarType> wire : {std::optional<at::ScalarType>(), std::optional(at::kBFloat16)})
    for (const int accum : {1, 2}) {
      CAPTURE(wire.has_value());
      CAPTURE(accum);
      Net net(group, {.wire = wire});
      DataParallel& parallel = *net.parts.front();
      for (int iteration = 0; iteration < 3; ++iteration) {
        const auto want = plain_gradients(net, 10 * iteration, accum);
        for (auto& layer : net.layers) layer.mutable_grad().reset();
        for (int i = 0; i < accum; ++i) {
          parallel.begin(i == 0, i + 1 == accum);
          const at::Tensor loss = net.loss(10 * iteration + i);
          parallel.backward(loss, torch::full({1}, 2.5f, loss.options().requires_grad(false)), 1,
                            iteration == 1 ? flag(Flag::interrupted) : StepFlags());
        }
        const double tolerance = wire ? 1e-2 : 1e-6;
        for (std::size_t i = 0; i < want.size(); ++i)
          CHECK(torch::allclose(net.layers[i].grad(), want[i], tolerance,
                                tolerance * want[i].abs().max().item<double>()));
        const Told was = reported(parallel);
        CHECK(was.scalar == 2.5 * accum);
        CHECK(was.flags[Flag::interrupted] == (iteration == 1 ? 1 : 0));
      }
    }
  group.processes()->shutdown();
}

TEST_CASE("who contributes zeros gives its flags") {
  TorchGroup group(lone_processes(std::chrono::minutes(2)), std::make_shared<CollectiveLog>());
  Net net(group, {});
  net.parts.front()->contribute_zeros(1, flag(Flag::step_failed));
  for (auto& layer : net.layers) CHECK(layer.grad().abs().max().item<float>() == 0);
  CHECK(reported(*net.parts.front()).flags[Flag::step_failed] == 1);
  group.processes()->shutdown();
}

TEST_CASE("two passes exchange each their own gradients") {
  TorchGroup group(lone_processes(std::chrono::minutes(2)), std::make_shared<CollectiveLog>());
  Net net(group, {.only_own = true}, 2);
  const auto want = plain_gradients(net, 1, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    net.parts[i]->begin(true, true);
    const at::Tensor loss = net.loss(1);
    net.parts[i]->backward(loss, loss.detach().reshape({1}), 1, {});
  }
  for (std::size_t i = 0; i < 2; ++i) CHECK(torch::allclose(net.layers[i].grad(), want[i], 1e-6, 1e-8));
  group.processes()->shutdown();
}

// Run by the next one, as it ends its process.
TEST_CASE("child: a collective that takes longer than its limit" * doctest::skip()) {
  std::exit(guarded_main([]() -> int {
    const auto processes = lone_processes(std::chrono::seconds(3));
    std::vector<at::Tensor> values{torch::ones({1000}, test_device())};
    processes->allreduce(values)->wait();
    at::Tensor product = torch::ones({8192, 8192}, torch::device(test_device()).dtype(torch::kFloat64));
    for (int i = 0; i < 500; ++i) product = product.matmul(product).clamp_(0, 1);  // eight seconds of an H100
    processes->allreduce(values)->wait();                                          // behind all that
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return 0;
  }));
}

TEST_CASE("a collective of GPUs that takes longer than its limit ends the process with exit code 6") {
  SKIP_WITHOUT_GPU();
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const int status = std::system(("timeout 30 '" + self + "' --no-skip -tc='child: a collective*' >&2").c_str());
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 6);
}

}  // namespace flowtrain::exchange_test
