// GPU kernels for the operators that nets/cornernet/ defines (corner_pool.cpp, gaussians.cpp). This file and graph.cpp
// are the CUDA parts that know LibTorch; loading them registers the operators.

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <torch/library.h>

#include <optional>
#include <stdexcept>

#include "stages/cuda/kernels.h"

namespace flowtrain::cuda {
namespace {

Lines lines_of(const at::Tensor& x, std::int64_t length, std::int64_t inner, bool backwards) {
  const std::int64_t line = length * inner;
  return {line > 0 ? x.numel() / line : 0, length, inner, backwards};
}

/// Calls run(T{}) with the kernels' type for that of x.
template <class Run>
void for_type_of(const at::Tensor& x, Run run) {
  switch (x.scalar_type()) {
    case at::kFloat: return run(float{});
    case at::kDouble: return run(double{});
    case at::kHalf: return run(__half{});
    case at::kBFloat16: return run(__nv_bfloat16{});
    default: throw std::invalid_argument("corner pooling: no kernel for this type");
  }
}

void running_max_cuda(const at::Tensor& x, std::int64_t length, std::int64_t inner, bool backwards, at::Tensor& y,
                      const std::optional<at::Tensor>& replaced) {
  const c10::cuda::CUDAGuard on_device(x.device());
  for_type_of(x, [&](auto zero) {
    using T = decltype(zero);
    running_max(static_cast<const T*>(x.const_data_ptr()), static_cast<T*>(y.mutable_data_ptr()),
                replaced ? replaced->mutable_data_ptr<std::uint8_t>() : nullptr, lines_of(x, length, inner, backwards),
                c10::cuda::getCurrentCUDAStream());
  });
}

void running_max_backward_cuda(const at::Tensor& g, const at::Tensor& replaced, std::int64_t length, std::int64_t inner,
                               bool backwards, at::Tensor& gx) {
  const c10::cuda::CUDAGuard on_device(g.device());
  for_type_of(g, [&](auto zero) {
    using T = decltype(zero);
    running_max_backward(static_cast<const T*>(g.const_data_ptr()), replaced.const_data_ptr<std::uint8_t>(),
                         static_cast<T*>(gx.mutable_data_ptr()), lines_of(g, length, inner, backwards),
                         c10::cuda::getCurrentCUDAStream());
  });
}

void draw_gaussians_cuda(const at::Tensor& gaussians, std::int64_t corner, at::Tensor& heat,
                         const std::optional<at::Tensor>& valid) {
  const c10::cuda::CUDAGuard on_device(gaussians.device());
  const Maps maps{heat.size(0), heat.size(1), static_cast<int>(heat.size(2)), static_cast<int>(heat.size(3))};
  draw_gaussians(gaussians.const_data_ptr<std::int32_t>(), gaussians.size(1), static_cast<int>(corner),
                 heat.mutable_data_ptr<float>(), valid ? valid->mutable_data_ptr<float>() : nullptr, maps,
                 c10::cuda::getCurrentCUDAStream());
}

TORCH_LIBRARY_IMPL(flowtrain, CUDA, library) {
  library.impl("draw_gaussians", draw_gaussians_cuda);
  library.impl("running_max", running_max_cuda);
  library.impl("running_max_backward", running_max_backward_cuda);
}

}  // namespace
}  // namespace flowtrain::cuda
