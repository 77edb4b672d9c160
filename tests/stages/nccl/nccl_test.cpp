// NCCL in a world of one GPU. A program of its own: it needs a GPU, and says so where there is none.
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <string>

#include "pipeline/base/distributed/gpu_backend.h"
#include "stages/device/device.h"
#include "tests/support/skip.h"
#include "tests/support/temp_run.h"

namespace flowtrain::nccl_test {
namespace {

const test::ProgramNeeds needs("gpu", []() -> std::string { return count_gpus() == 0 ? "no GPU answers" : ""; });

}  // namespace

TEST_CASE("all-reduce and broadcast of a world of one leave what was there") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(store, 0, 1);
  add_gpu_backend(*group, store, {}, "nccl", "cuda:0", std::chrono::seconds(30));
  REQUIRE(group->getBackend(c10::DeviceType::CUDA)->getBackendName() == "nccl");
  for (const auto type : {torch::kFloat32, torch::kHalf, torch::kBFloat16, torch::kInt64}) {
    const at::Tensor before = torch::arange(1000, torch::device(torch::kCUDA).dtype(type));
    std::vector<at::Tensor> tensors{before.clone()};
    group->allreduce(tensors)->wait();
    CHECK(tensors[0].equal(before));
    group->broadcast(tensors)->wait();
    CHECK(tensors[0].equal(before));
  }
  group->shutdown();
}

TEST_CASE("a run over NCCL ends with what a run without it ends with") {
  const TempRun place;
  const Words exact{"--device", "cuda", "--set", "run.deterministic=true"};
  const Words world{"--distributed", "--world-size", "1", "--nproc", "1", "--dist-backend"};
  REQUIRE_EXIT(place.train(with(exact, {"--run-dir", "alone"})), 0);
  for (const std::string backend : {"nccl", "gloo"}) {
    REQUIRE_EXIT(place.train(with(exact, with(world, {backend, "--run-dir", backend}))), 0);
    const auto alone = metrics_of(place.path("alone"), "val"), one = metrics_of(place.path(backend), "val");
    REQUIRE(one.size() == alone.size());
    CHECK(end_of(place.path(backend)).order == end_of(place.path("alone")).order);
    for (std::size_t i = 0; i < one.size(); ++i)
      CHECK(one[i].at("loss").get<double>() == doctest::Approx(alone[i].at("loss").get<double>()).epsilon(1e-3));
  }
}

}  // namespace flowtrain::nccl_test
