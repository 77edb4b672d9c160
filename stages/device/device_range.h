#pragma once
// Names for what threads do, in the timelines of NVIDIA's profilers (NVTX ranges). No CUDA here.

namespace flowtrain {

/// How ranges are told: functions of the CUDA parts, for the calling thread. Ranges of a thread nest.
struct RangeCalls {
  void (*push)(const char* name);
  void (*pop)();
};

/// From now on ranges are told there; null: nobody is told. `calls` stays valid for good.
void tell_ranges_to(const RangeCalls* calls);

/// A range of the calling thread while it lives. Nothing where the CUDA parts are not loaded, or came without NVTX;
/// with them and without an attached profiler a call that returns at once.
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
