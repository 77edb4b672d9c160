#pragma once
// The CPU as a device: plain memory without copies.

#include <new>
#include <string>

#include "sampling/core/error.h"
#include "stages/device/device.h"

namespace flowtrain {

/// Compute uses batches in the memory that samplers wrote.
class CpuDevice : public Device {
 public:
  std::string name() const override { return "cpu"; }
  bool copies() const override { return false; }

  void* allocate_host(std::size_t bytes) override { return ::operator new(bytes, alignment); }
  void free_host(void* memory) noexcept override { ::operator delete(memory, alignment); }

  void* allocate_device(std::size_t) override { throw no_copies("allocate_device"); }
  void free_device(void*) noexcept override {}

  void start_copy(std::uint32_t, void*, const void*, std::size_t) override { throw no_copies("start_copy"); }
  void wait_copy(std::uint32_t) override {}
  void consumed(std::uint32_t) override {}
  void wait_host_free(std::uint32_t) override {}

  void normalise(const std::uint8_t*, float*, std::size_t, int, const float*, const float*) override {
    throw no_copies("normalise");
  }
  void mix(const std::uint8_t*, float*, std::size_t, const PictureShape&, const PixelRule&, const PixelMix&) override {
    throw no_copies("mix");
  }

 private:
  static constexpr std::align_val_t alignment{64};

  static InternalError no_copies(const char* call) {
    return InternalError(std::string(call) + " was called on the CPU device, whose slabs need no copy");
  }
};

}  // namespace flowtrain
