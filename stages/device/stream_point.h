#pragma once
// Points in a device's streams, with which --profile measures its times. This file needs neither torch nor CUDA.

#include <cstdint>

namespace flowtrain {

/// The streams of a device that work on batches.
enum class DeviceStream : std::uint8_t {
  copies,  ///< the copies that start_copy() of one Device object asks for
  compute  ///< the calling thread's stream, see Device::compute_on()
};

/// The place behind all earlier requests to a stream. Any thread may ask it.
class StreamPoint {
 public:
  virtual ~StreamPoint() = default;
  /// Returns the seconds from `earlier`, a point of the same device, to this one, by the device's clock. It waits until
  /// both are reached. Throws std::runtime_error if the driver fails.
  virtual double seconds_since(const StreamPoint& earlier) const = 0;
  /// Returns a number that identifies the stream.
  virtual std::uintptr_t stream() const = 0;
};

}  // namespace flowtrain
