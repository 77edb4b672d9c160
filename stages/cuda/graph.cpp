// CUDA graphs by way of LibTorch, which knows what of its own goes into one: memory, random numbers.

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <type_traits>

#include "stages/cuda/entry.h"

namespace flowtrain::cuda {
namespace {

class CudaWorkGraph final : public WorkGraph {
 public:
  void capture(const std::function<void()>& work) override {
    c10::cuda::device_synchronize();  // what `work` builds on is on another stream
    const c10::cuda::CUDAStreamGuard on_its_own(c10::cuda::getStreamFromPool());
    // Of this thread alone: the data line's go on meanwhile.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      try {
        graph_.capture_end();
      } catch (...) {  // it is the first error that counts
      }
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace
}  // namespace flowtrain::cuda

extern "C" flowtrain::WorkGraph* flowtrain_cuda_graph() {
  static_assert(std::is_same_v<decltype(flowtrain_cuda_graph), flowtrain::CudaGraphEntry>);
  return new flowtrain::cuda::CudaWorkGraph;
}
