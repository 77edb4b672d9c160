// One GPU with the CUDA runtime alone. Copies run on a stream of their own; compute is the legacy default stream, the
// one that LibTorch uses, unless the thread has been told otherwise.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "stages/cuda/handles.h"
#include "stages/cuda/kernels.h"
#include "stages/device/cuda_entry.h"
#include "stages/device/device.h"

namespace flowtrain::cuda {
namespace {

/// Each thread has its own, as it has its own current stream in LibTorch.
thread_local cudaStream_t compute_stream = nullptr;

/// Makes the GPU the calling thread's current one, if it is there.
int select(int index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    throw std::runtime_error(std::string("no GPU answers: cudaGetDeviceCount: ") +
                             (status == cudaSuccess ? "none is there" : cudaGetErrorString(status)));
  }
  if (index < 0 || index >= count) {
    throw std::runtime_error("there is no such GPU; this machine has " + std::to_string(count) + ", counted from 0");
  }
  make_current(index);
  return index;
}

/// The random draws for the rows of batches on their way to the device. As many batches as there are slabs may be under
/// way; the host memory is page-locked, since otherwise the driver might still read it while the next batch is drawn.
class RowsOnTheWay {
 public:
  explicit RowsOnTheWay(std::size_t batches) : places_(batches) {}

  /// Enqueues a copy of `rows` on `stream`, and returns where it will be on the device, until the next one.
  const RowMix* send(const RowMix* rows, std::size_t count, cudaStream_t stream) {
    Place& place = places_[next_++ % places_.size()];
    check(cudaEventSynchronize(place.left.get()), "cudaEventSynchronize");
    if (place.rows.size() < count) place.rows = PinnedArray<RowMix>(count);
    if (there_.size() < count) there_ = DeviceArray<RowMix>(count);
    std::copy(rows, rows + count, place.rows.get());
    check(cudaMemcpyAsync(there_.get(), place.rows.get(), count * sizeof(RowMix), cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync");
    check(cudaEventRecord(place.left.get(), stream), "cudaEventRecord");
    return there_.get();
  }

 private:
  struct Place {
    PinnedArray<RowMix> rows;
    Event left;  // reached when the rows have been copied
  };
  std::vector<Place> places_;
  std::size_t next_ = 0;
  DeviceArray<RowMix> there_;
};

/// A point on the GPU that is current when it is made.
class TimedPoint final : public StreamPoint {
 public:
  explicit TimedPoint(cudaStream_t stream) : stream_(stream) {
    check(cudaEventRecord(event_.get(), stream), "cudaEventRecord");
  }

  double seconds_since(const StreamPoint& earlier) const override {
    const auto& begin = dynamic_cast<const TimedPoint&>(earlier);
    check(cudaEventSynchronize(begin.event_.get()), "cudaEventSynchronize");
    check(cudaEventSynchronize(event_.get()), "cudaEventSynchronize");
    float duration_ms = 0;
    check(cudaEventElapsedTime(&duration_ms, begin.event_.get(), event_.get()), "cudaEventElapsedTime");
    return static_cast<double>(duration_ms) * 1e-3;
  }
  std::uintptr_t stream() const override { return reinterpret_cast<std::uintptr_t>(stream_); }

 private:
  cudaStream_t stream_;
  Event event_{0};
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, std::uint32_t slots, bool pin)
      : index_(select(index)), pin_(pin), copied_(slots), consumed_(slots), mix_rows_(slots) {}

  std::string name() const override { return "cuda:" + std::to_string(index_); }
  bool copies() const override { return true; }

  void* allocate_host(std::size_t bytes) override {
    enter();
    void* memory = nullptr;
    if (!pin_) {
      memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
      if (memory == nullptr) throw std::bad_alloc();
      return memory;
    }
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc of " + std::to_string(bytes) + " bytes");
    return memory;
  }
  void free_host(void* memory) noexcept override {
    if (pin_) {
      cudaFreeHost(memory);
    } else {
      std::free(memory);
    }
  }

  void* allocate_device(std::size_t bytes) override {
    enter();
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc of " + std::to_string(bytes) + " bytes");
    return memory;
  }
  void free_device(void* memory) noexcept override { cudaFree(memory); }

  void compute_on(void* stream) override { compute_stream = static_cast<cudaStream_t>(stream); }

  void start_copy(std::uint32_t slot, void* to, const void* from, std::size_t bytes) override {
    enter();
    check(cudaStreamWaitEvent(transfer_.get(), consumed_.at(slot).get(), 0), "cudaStreamWaitEvent");
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, transfer_.get()), "cudaMemcpyAsync");
    check(cudaEventRecord(copied_.at(slot).get(), transfer_.get()), "cudaEventRecord");
  }

  void wait_copy(std::uint32_t slot) override {
    enter();
    check(cudaStreamWaitEvent(compute_stream, copied_.at(slot).get(), 0), "cudaStreamWaitEvent");
  }

  void consumed(std::uint32_t slot) override {
    enter();
    check(cudaEventRecord(consumed_.at(slot).get(), compute_stream), "cudaEventRecord");
  }

  void wait_host_free(std::uint32_t slot) override {
    check(cudaEventSynchronize(copied_.at(slot).get()), "cudaEventSynchronize");
  }

  std::unique_ptr<StreamPoint> point(DeviceStream stream) override {
    enter();
    return std::make_unique<TimedPoint>(stream == DeviceStream::copies ? transfer_.get() : compute_stream);
  }

  void normalise(const std::uint8_t* from, float* to, std::size_t count, int channels, const float* mean,
                 const float* stddev) override {
    enter();
    cuda::normalise(from, to, count, channels, mean, stddev, compute_stream);
  }

  void mix(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape, const PixelRule& rule,
           const PixelMix& mix) override {
    enter();
    PixelMix there = mix;
    there.rows = mix_rows_.send(mix.rows, rows, compute_stream);
    if (mix.tints) {
      if (mix_grey_.size() < rows) mix_grey_ = DeviceArray<float>(rows);
      measure_grey(from, mix_grey_.get(), rows, shape, compute_stream);
      there.grey = mix_grey_.get();
    }
    mix_pixels(from, to, rows, shape, rule, there, compute_stream);
  }

 private:
  void enter() const { make_current(index_); }

  int index_;  // declared first: streams and events belong to the GPU that is current when they are made
  bool pin_;   // host memory is page-locked; otherwise the driver copies through memory of its own
  Stream transfer_;
  std::vector<Event> copied_;    // slot's copy has left host memory and is on the device
  std::vector<Event> consumed_;  // compute has read the slot's device memory
  RowsOnTheWay mix_rows_;
  DeviceArray<float> mix_grey_;
};

}  // namespace
}  // namespace flowtrain::cuda

extern "C" flowtrain::Device* flowtrain_cuda_device(int index, std::uint32_t slots, bool pin, char* error,
                                                    std::size_t error_size) {
  static_assert(std::is_same_v<decltype(flowtrain_cuda_device), flowtrain::CudaDeviceEntry>);
  try {
    return new flowtrain::cuda::CudaDevice(index, slots, pin);
  } catch (const std::exception& failure) {
    std::snprintf(error, error_size, "%s", failure.what());
    return nullptr;
  }
}
