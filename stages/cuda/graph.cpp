// CUDA graphs by way of LibTorch, which knows what of its own goes into one: memory, random numbers.

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

/// The stream on which all graphs of a GPU are captured. LibTorch's pool hands out its 32 in turn, so that one of them
/// may come back while somebody computes on it: then their work would become part of the graph. Kept for ever, as is
/// what LibTorch keeps for it (cuBLAS's workspaces). Compute thread.
c10::cuda::CUDAStream capture_stream(c10::DeviceIndex gpu) {
  static auto& streams = *new std::map<c10::DeviceIndex, Stream>;
  return c10::cuda::getStreamFromExternal(streams[gpu].get(), gpu);
}

/// Calls `undo`, which fails where there is nothing to undo.
template <class Undo>
void try_to(Undo undo) noexcept {
  try {
    undo();
  } catch (const std::exception&) {
    cudaGetLastError();  // or the next, innocent call would report it again
  }
}

/// LibTorch's graph, and what it leaves to its user where a capture ends badly.
class Graph : public at::cuda::CUDAGraph {
 public:
  /// Instantiated once it is known to hold something.
  explicit Graph(c10::DeviceIndex gpu) : CUDAGraph(/*keep_graph=*/true), gpu_(gpu) {}

  /// A capture that was invalidated, by a wait for the device among what was captured, is ended by capture_end() with
  /// an exception before memory and random numbers are given back: the allocator would take all that is asked for as
  /// part of a capture, and the generator would refuse to draw. So that is done here.
  void abandon() noexcept {
    if (!capture_ended_) try_to([&] { capture_end(); });
    if (capture_ended_) return;  // then the destructor does the rest
    const auto pool = mempool_id_;
    auto* const host = at::getHostAllocator(at::kCUDA);
    try_to([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(gpu_, pool); });
    try_to([&] { c10::cuda::CUDACachingAllocator::releasePool(gpu_, pool); });
    try_to([&] { host->end_allocate_to_pool(pool); });
    try_to([&] { host->release_pool(pool); });
    try_to([&] { renew_generator(); });
  }

  /// Nodes of what was captured.
  std::size_t size() {
    std::size_t nodes = 0;
    check(cudaGraphGetNodes(raw_cuda_graph(), nullptr, &nodes), "cudaGraphGetNodes");
    return nodes;
  }

 private:
  /// Only the end of a capture tells the generator's state that it is over; a copy of the state knows of none.
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
    c10::cuda::device_synchronize();  // what `work` builds on is on another stream
    // The graph's memory is its own, and while it is captured nobody gives any back: what earlier steps left would be
    // held beside it.
    c10::cuda::CUDACachingAllocator::emptyCache();
    const c10::cuda::CUDAStreamGuard on_its_own(capture_stream(gpu_));
    try {
      // This thread's work alone is captured: the loader's threads go on meanwhile.
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
