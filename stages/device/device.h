#pragma once
// The compute device as the loader sees it: host memory to fill, a way to start copies, and events. It needs no torch
// and only C++17, so that nvcc compiles the CUDA one (stages/cuda/). Slabs pass through the CPU device without a copy.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sampling/images/pixel_rule.h"
#include "stages/device/stream_point.h"

namespace flowtrain {

/// One device's memory and copy stream. `slot` is a slab's index, < slots. Failures of the driver throw
/// std::runtime_error that names the call. Each method states the thread that calls it.
class Device {
 public:
  virtual ~Device() = default;

  /// Returns "cpu" or "cuda:0".
  virtual std::string name() const = 0;
  /// Returns whether batches need a copy; false on the CPU, where device memory is the slab itself.
  virtual bool copies() const = 0;
  /// Allocates memory that samplers write to (page-locked if a GPU copies from it), aligned to 64 bytes. Building
  /// thread.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void free_host(void* memory) noexcept = 0;
  /// Allocates memory on the device; only if copies(). Building thread.
  virtual void* allocate_device(std::size_t bytes) = 0;
  virtual void free_device(void* memory) noexcept = 0;

  /// Makes this stream (the driver's handle) the calling thread's compute stream on all device objects, in place of the
  /// default one.
  virtual void compute_on(void*) {}
  /// Starts the copy of a slab on the transfer stream, once compute no longer uses the slot there. Transfer thread.
  virtual void start_copy(std::uint32_t slot, void* to, const void* from, std::size_t bytes) = 0;
  /// Makes all later work of the calling thread wait, on the device, for the slot's copy. Compute thread.
  virtual void wait_copy(std::uint32_t slot) = 0;
  /// Allows the slot's device memory to be overwritten once all work enqueued so far is done. Compute thread.
  virtual void consumed(std::uint32_t slot) = 0;
  /// Blocks until the slot's copy has left host memory, before that is filled again. Any one thread per slot.
  virtual void wait_host_free(std::uint32_t slot) = 0;
  /// Returns the point that a stream is at, for --profile, or null if the device has no streams. Transfer thread for
  /// `copies`, any thread for its own `compute`.
  virtual std::unique_ptr<StreamPoint> point(DeviceStream) { return nullptr; }

  /// Turns u8 pixels (count, channels) into f32 (x / 255 - mean) / stddev on the compute stream. The pointers are on
  /// the device; mean and stddev have `channels` ≤ 4 values on the host. Only if copies(). Compute thread.
  virtual void normalise(const std::uint8_t* from, float* to, std::size_t count, int channels, const float* mean,
                         const float* stddev) = 0;
  /// Turns (rows, height, width, channels ≤ 4) u8 pixels into f32, tinted, erased and mixed, in one pass on the compute
  /// stream (two with tints, whose grey levels it measures), with the CPU's bits. `from` and `to` are device pointers;
  /// `rule` and `mix` are on the host and read before it returns. Only if copies(). Compute thread.
  virtual void mix(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape,
                   const PixelRule& rule, const PixelMix& mix) = 0;
};

std::unique_ptr<Device> make_cpu_device();

/// Makes the GPU `index` for `slots` slabs, whose host memory is page-locked with `pin`. It loads the CUDA parts
/// (libflowtrain_cuda.so beside the program or in ../lib, which also registers CUDA with LibTorch). Throws
/// UserError(usage) if this build has none, or no GPU answers.
std::unique_ptr<Device> make_cuda_device(int index, std::uint32_t slots, bool pin = true);

/// Returns the number of GPUs that CUDA_VISIBLE_DEVICES leaves; 0 if this build has no CUDA parts, or no driver
/// answers. It asks the driver alone and makes no context, which would take GPU memory.
int count_gpus();

}  // namespace flowtrain
