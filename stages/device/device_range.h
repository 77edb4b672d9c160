#pragma once
// Names for the work of threads in the timelines of NVIDIA's profilers (NVTX ranges). This file needs no CUDA.

namespace flowtrain {

/// Functions of the CUDA parts that report ranges of the calling thread. Ranges of a thread nest.
struct RangeCalls {
  void (*push)(const char* name);
  void (*pop)();
};

/// Reports ranges to `calls` from now on; null reports them to nobody. `calls` stays valid for ever.
void report_ranges_to(const RangeCalls* calls);

/// Reports a range of the calling thread while it lives. It does nothing if the CUDA parts are not loaded or came
/// without NVTX; without an attached profiler it returns at once.
class DeviceRange {
 public:
  /// `name` is read before it returns.
  explicit DeviceRange(const char* name);
  ~DeviceRange();
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

 private:
  const RangeCalls* calls_;
};

}  // namespace flowtrain
