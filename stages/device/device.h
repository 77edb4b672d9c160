#pragma once
// The compute device as the loader sees it: host memory to fill, a way to start copies, and events. No torch, and
// C++17, so that nvcc compiles the CUDA one (stages/cuda/). On the CPU slabs pass through without a copy.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "sampling/images/pixel_rule.h"
#include "stages/device/stream_point.h"

namespace flowtrain {

/// One device's memory and copy stream. `slot` is a slab's index, < slots. Failures of the driver throw
/// std::runtime_error naming the call. Methods say which thread calls them.
class Device {
 public:
  virtual ~Device() = default;

  /// "cpu", "cuda:0".
  virtual std::string name() const = 0;
  /// Whether batches need a copy; false on the CPU, where device memory is the slab itself.
  virtual bool copies() const = 0;
  /// Memory that samplers write to (page-locked where a GPU copies from it); aligned to 64 bytes. Building thread.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void free_host(void* memory) noexcept = 0;
  /// Memory on the device; only where copies(). Building thread.
  virtual void* allocate_device(std::size_t bytes) = 0;
  virtual void free_device(void* memory) noexcept = 0;

  /// What the calling thread enqueues from now on, on any device object, goes to this stream (the driver's handle) in
  /// place of the default one: its compute stream.
  virtual void compute_on(void*) {}
  /// Transfer thread: starts the copy of a slab on the transfer stream, after the slot's last use by compute is over
  /// there.
  virtual void start_copy(std::uint32_t slot, void* to, const void* from, std::size_t bytes) = 0;
  /// Compute thread: everything it enqueues from now on waits, on the device, for the slot's copy.
  virtual void wait_copy(std::uint32_t slot) = 0;
  /// Compute thread: the slot's device memory may be overwritten once what is enqueued so far is done.
  virtual void consumed(std::uint32_t slot) = 0;
  /// Before a slot's host memory is filled again: blocks until its copy has left it. Any one thread per slot.
  virtual void wait_host_free(std::uint32_t slot) = 0;
  /// The point that a stream is at, for --profile; null: the device has no streams. Transfer thread for `copies`, any
  /// thread for its own `compute`.
  virtual std::unique_ptr<StreamPoint> point(DeviceStream) { return nullptr; }

  /// Compute thread: u8 pixels (count, channels) to f32 (x / 255 - mean) / stddev on the compute stream; device
  /// pointers; mean and stddev have `channels` ≤ 4 values on the host. Only where copies().
  virtual void normalise(const std::uint8_t* from, float* to, std::size_t count, int channels, const float* mean,
                         const float* stddev) = 0;
  /// Compute thread: (rows, height, width, channels ≤ 4) u8 pixels to f32, tinted, erased and mixed, in one pass on the
  /// compute stream (two with tints, whose grey levels it measures): the CPU's bits. `from` and `to` are device
  /// pointers; `rule` and `mix` are on the host and read before it returns. Only where copies().
  virtual void mix(const std::uint8_t* from, float* to, std::size_t rows, const PictureShape& shape,
                   const PixelRule& rule, const PixelMix& mix) = 0;
};

/// Plain memory, nothing to copy.
std::unique_ptr<Device> make_cpu_device();

/// The GPU `index`, for `slots` slabs, whose host memory is page-locked with `pin`: loads the CUDA parts
/// (libflowtrain_cuda.so beside the program or in ../lib, which also registers CUDA with LibTorch). Throws
/// UserError(usage) where this build has none, or no GPU answers.
std::unique_ptr<Device> make_cuda_device(int index, std::uint32_t slots, bool pin = true);

/// GPUs that CUDA_VISIBLE_DEVICES leaves; 0 where this build has no CUDA parts, or no driver answers. Asks the driver
/// alone, and makes no context, which would take memory of a GPU.
int count_gpus();

}  // namespace flowtrain
