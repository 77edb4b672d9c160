#pragma once
// Owners of the CUDA runtime's handles. They turn its errors into exceptions.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace flowtrain::cuda {

/// Throws std::runtime_error with the call that failed and the runtime's reason. The text "CUDA error" also appears in
/// LibTorch's errors: after most of them the process can no longer use the GPU.
inline void check(cudaError_t status, const std::string& call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which the next call would report again
  throw std::runtime_error(call + ": CUDA error: " + cudaGetErrorString(status));
}

/// Makes a GPU the calling thread's current one; each thread has its own.
inline void make_current(int gpu) { check(cudaSetDevice(gpu), "cudaSetDevice"); }

/// The source of an OwnedArray's memory.
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
  /// Enqueued work may still use the old memory: the runtime frees it after that work.
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

/// Page-locked host memory, which a GPU copies from while the host goes on.
template <class T>
using PinnedArray = OwnedArray<T, PinnedMemory>;

/// A stream that neither waits for the default one nor makes it wait.
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

/// A point on a stream. Waiting for one that was never recorded returns at once.
class Event {
 public:
  /// `flags` is cudaEventDisableTiming, since timing costs device time, or 0 for events whose time is read.
  explicit Event(unsigned flags = cudaEventDisableTiming) {
    // BlockingSync makes a waiting thread sleep, which leaves its core to the samplers.
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
