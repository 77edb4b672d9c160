#pragma once
// Points in the work of a device's streams, with which --profile measures when a device did what. No torch, no CUDA
// here.

#include <cstdint>

namespace flowtrain {

/// The streams of a device that work on batches.
enum class DeviceStream : std::uint8_t {
  copies,  ///< of one Device object: the copies that its start_copy() asks for
  compute  ///< of the calling thread: see Device::compute_on()
};

/// The place behind all that a stream had been asked for when the point was made. Any thread may ask it.
class StreamPoint {
 public:
  virtual ~StreamPoint() = default;
  /// Seconds from `earlier`, a point of the same device, to this one, by the device's clock. Waits until both are
  /// reached. Throws std::runtime_error where the driver fails.
  virtual double seconds_since(const StreamPoint& earlier) const = 0;
  /// Which stream it is on: the same number, the same stream.
  virtual std::uintptr_t stream() const = 0;
};

}  // namespace flowtrain
