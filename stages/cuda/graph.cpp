// CUDA graphs through LibTorch, which knows which of its memory and random numbers belong to one.

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <type_traits>

#include "stages/cuda/handles.h"
#include "stages/device/cuda_entry.h"

namespace flowtrain::cuda {
namespace {

/// Returns the stream on which all graphs of a GPU are captured. LibTorch's pool hands out its 32 streams in turn, so
/// one of them may return while another thread computes on it, and that work would become part of the graph. This
/// stream is kept for ever, like the cuBLAS workspaces that LibTorch keeps for it. Compute thread.
c10::cuda::CUDAStream capture_stream(c10::DeviceIndex gpu) {
  static auto& streams = *new std::map<c10::DeviceIndex, Stream>;
  return c10::cuda::getStreamFromExternal(streams[gpu].get(), gpu);
}

/// Calls `undo`, which fails if there is nothing to undo.
template <class Undo>
void try_to(Undo undo) noexcept {
  try {
    undo();
  } catch (const std::exception&) {
    cudaGetLastError();  // clears the error, which the next call would report again
  }
}

/// Adds the clean-up that LibTorch's graph leaves to its user if a capture fails.
class Graph : public at::cuda::CUDAGraph {
 public:
  /// LibTorch instantiates the graph only after size() has shown that it is not empty.
  explicit Graph(c10::DeviceIndex gpu) : CUDAGraph(/*keep_graph=*/true), gpu_(gpu) {}

  /// Cleans up after a capture that was invalidated, for example by a wait for the device. capture_end() throws before
  /// it gives memory and random numbers back: the allocator would serve all requests as part of a capture, and the
  /// generator would refuse to draw.
  void abandon() noexcept {
    if (!capture_ended_) try_to([&] { capture_end(); });
    if (capture_ended_) return;  // the destructor does the rest
    const auto pool = mempool_id_;
    auto* const host = at::getHostAllocator(at::kCUDA);
    try_to([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(gpu_, pool); });
    try_to([&] { c10::cuda::CUDACachingAllocator::releasePool(gpu_, pool); });
    try_to([&] { host->end_allocate_to_pool(pool); });
    try_to([&] { host->release_pool(pool); });
    try_to([&] { renew_generator(); });
  }

  /// Returns the number of captured nodes.
  std::size_t size() {
    std::size_t nodes = 0;
    check(cudaGraphGetNodes(raw_cuda_graph(), nullptr, &nodes), "cudaGraphGetNodes");
    return nodes;
  }

 private:
  /// Renews the generator's state: only the end of a capture tells it that the capture is over, and a copy knows of
  /// none.
  void renew_generator() const {
    at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(gpu_);
    const std::lock_guard lock(generator.mutex());
    generator.graphsafe_set_state(generator.clone());
  }

  const c10::DeviceIndex gpu_;
};

class CudaWorkGraph final : public WorkGraph {
 public:
  explicit CudaWorkGraph(int gpu) : gpu_(static_cast<c10::DeviceIndex>(gpu)), graph_(gpu_) {}

  void capture(const std::function<void()>& work) override {
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    c10::cuda::device_synchronize();  // the inputs of `work` are on another stream
    // The graph's memory is its own, and nobody frees any during the capture, so memory of earlier steps would stay
    // held.
    c10::cuda::CUDACachingAllocator::emptyCache();
    const c10::cuda::CUDAStreamGuard on_its_own(capture_stream(gpu_));
    try {
      // The capture records this thread's work alone, while the loader's threads go on.
      graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      work();
      graph_.capture_end();
      if (graph_.size() == 0) throw std::runtime_error("nothing was captured: the work went elsewhere");
      graph_.instantiate();
    } catch (...) {
      graph_.abandon();
      throw;
    }
  }

  void replay() override { graph_.replay(); }

 private:
  const c10::DeviceIndex gpu_;
  Graph graph_;
};

}  // namespace
}  // namespace flowtrain::cuda

extern "C" flowtrain::WorkGraph* flowtrain_cuda_graph(int gpu) {
  static_assert(std::is_same_v<decltype(flowtrain_cuda_graph), flowtrain::CudaGraphEntry>);
  return new flowtrain::cuda::CudaWorkGraph(gpu);
}
