#pragma once
// The meters of a run's machine and device.

#include <memory>
#include <string>

#include "pipeline/base/telemetry/machine_meter.h"

namespace flowtrain {

struct Meters {
  std::unique_ptr<MachineMeter> machine;
  double peak_flops = 0;  ///< The peak of the device, per second; 0: not known, or the CPU.
};

/// Makes the meters of `device` (Device::name()); `amp` is train.amp.
Meters make_meters(const std::string& device, const std::string& amp);

}  // namespace flowtrain
