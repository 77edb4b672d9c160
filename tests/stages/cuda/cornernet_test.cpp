// CornerNet's kernels on the GPU against those on the CPU. A program of its own: it needs a GPU, and says so where
// there is none.
#include <torch/torch.h>
#undef CHECK
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "nets/cornernet/corner_pool.h"
#include "nets/cornernet/gaussians.h"
#include "sampling/core/error.h"
#include "stages/device/device.h"
#include "tests/support/skip.h"

namespace flowtrain::cornernet_test {
namespace {

using nets::CornerPool;

const at::Device gpu(at::kCUDA, 0);

const test::ProgramNeeds needs("gpu", []() -> std::string {
  try {
    static const std::unique_ptr<Device> device = make_cuda_device(0, 1);  // loads the kernels
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
});

/// Result and gradient, on the CPU.
std::pair<at::Tensor, at::Tensor> pooled(const at::Tensor& values, const at::Tensor& weights, CornerPool direction,
                                         const at::Device& device) {
  const at::Tensor x = values.to(device).detach().requires_grad_();
  const at::Tensor y = nets::corner_pool(x, direction);
  (y * weights.to(device)).sum().backward();
  return {y.detach().cpu(), x.grad().cpu()};
}

}  // namespace

TEST_CASE("corner pooling: the CPU's values, and its gradients but for the order of sums") {
  torch::manual_seed(1);
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16})
    for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast})
      for (const auto& [height, width] : {std::pair{1, 1}, std::pair{5, 33}, std::pair{64, 31}, std::pair{128, 128}})
        for (const auto direction : {CornerPool::top, CornerPool::bottom, CornerPool::left, CornerPool::right}) {
          CAPTURE(c10::toString(type));
          CAPTURE(height);
          CAPTURE(static_cast<int>(direction));
          // Whole numbers, so that there are ties.
          const at::Tensor x = at::randint(-9, 9, {2, 7, height, width}).to(type).contiguous(layout);
          const at::Tensor weights = at::randint(-3, 4, x.sizes()).to(type).contiguous(layout);
          const auto [y, g] = pooled(x, weights, direction, at::kCPU);
          const auto [gpu_y, gpu_g] = pooled(x, weights, direction, gpu);
          CHECK(at::equal(y, gpu_y));
          CHECK(at::allclose(g.to(at::kDouble), gpu_g.to(at::kDouble), 1e-2, 1e-2));
          const at::NoGradGuard no_gradients;
          CHECK(at::equal(nets::corner_pool(x.to(gpu), direction).cpu(), y));
        }
}

TEST_CASE("heat maps drawn from lists: the CPU's") {
  torch::manual_seed(1);
  at::Tensor gaussians = at::randint(-5, 70, {3, 200, 7}, at::kInt);
  gaussians.select(2, 0).copy_(at::randint(-1, 5, {3, 200}));
  gaussians.select(2, 5).copy_(at::randint(0, 30, {3, 200}));
  gaussians.select(2, 6).copy_(at::randint(0, 2, {3, 200}));
  const auto here = nets::draw_gaussians(gaussians, 4, 50, 60, true),
             there = nets::draw_gaussians(gaussians.to(gpu), 4, 50, 60, true);
  CHECK(at::allclose(here.tl, there.tl.cpu(), 0, 1e-6));
  CHECK(at::allclose(here.br, there.br.cpu(), 0, 1e-6));
  CHECK(at::equal(here.tl.eq(1), there.tl.cpu().eq(1)));
  CHECK(at::equal(here.tl_valid, there.tl_valid.cpu()));
  CHECK(at::equal(here.br_valid, there.br_valid.cpu()));
  CHECK(nets::draw_gaussians(at::empty({2, 0, 7}, at::kInt).to(gpu), 4, 5, 6, false).tl.sum().item<float>() == 0);
}

}  // namespace flowtrain::cornernet_test
