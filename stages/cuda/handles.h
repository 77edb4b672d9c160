#pragma once
// Owners of the CUDA runtime's handles, and its errors as exceptions.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace flowtrain::cuda {

/// Throws std::runtime_error naming the call that failed and the runtime's reason. "CUDA error" is what LibTorch's
/// errors say, too: after most of them the process can use the GPU no more.
inline void check(cudaError_t status, const std::string& call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next, innocent call would report it again
  throw std::runtime_error(call + ": CUDA error: " + cudaGetErrorString(status));
}

/// Makes a GPU the calling thread's current one: that is a property of each thread.
inline void make_current(int gpu) { check(cudaSetDevice(gpu), "cudaSetDevice"); }

/// Where the memory of an OwnedArray is taken from.
struct GpuMemory {
  static void* take(std::size_t bytes) {
    void* data = nullptr;
    check(cudaMalloc(&data, bytes), "cudaMalloc");
    return data;
  }
  static void give_back(void* data) { cudaFree(data); }
};
struct PinnedMemory {
  static void* take(std::size_t bytes) {
    void* data = nullptr;
    check(cudaHostAlloc(&data, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return data;
  }
  static void give_back(void* data) { cudaFreeHost(data); }
};

template <class T, class Memory>
class OwnedArray {
 public:
  OwnedArray() = default;
  explicit OwnedArray(std::size_t size) : data_(static_cast<T*>(Memory::take(size * sizeof(T)))), size_(size) {}
  ~OwnedArray() { Memory::give_back(data_); }
  /// What is enqueued may still use the old memory: the runtime frees it after that.
  OwnedArray& operator=(OwnedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* get() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Memory of the GPU that is current when it is made.
template <class T>
using DeviceArray = OwnedArray<T, GpuMemory>;

/// Page-locked memory of the host, which a GPU copies from while the host goes on.
template <class T>
using PinnedArray = OwnedArray<T, PinnedMemory>;

/// A stream that does not wait for the default one, nor the other way round.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

/// A point on a stream. Until it is first recorded, everybody who waits for it goes on at once.
class Event {
 public:
  /// `flags`: cudaEventDisableTiming, as it costs the device time; 0 where its time is asked for.
  explicit Event(unsigned flags = cudaEventDisableTiming) {
    // BlockingSync: a thread that waits sleeps, and leaves its core to the samplers.
    check(cudaEventCreateWithFlags(&handle_, flags | cudaEventBlockingSync), "cudaEventCreateWithFlags");
  }
  ~Event() { cudaEventDestroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace flowtrain::cuda
