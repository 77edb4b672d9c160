#pragma once
// What measures a run's machine and device.

#include <memory>
#include <string>

#include "pipeline/base/telemetry/machine_meter.h"

namespace flowtrain {

struct Meters {
  std::unique_ptr<MachineMeter> machine;
  double peak_flops = 0;  ///< of the device, per second; 0: not known, or the CPU
};

/// `device`: Device::name(). `amp`: train.amp, by which the net computes.
Meters make_meters(const std::string& device, const std::string& amp);

}  // namespace flowtrain
