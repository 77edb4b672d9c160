#include "pipeline/engine/session/meters.h"

#include "sampling/core/parse.h"
#include "stages/device/gpu_facts.h"
#include "stages/device/gpu_peaks.h"

namespace flowtrain {

Meters make_meters(const std::string& device, const std::string& amp) {
  const std::string prefix = "cuda:";
  if (device.starts_with(prefix)) {
    const auto gpus = gpu_facts().gpus;
    const auto index = parse_number<std::size_t>(device.substr(prefix.size()));
    if (index && *index < gpus.size()) {
      const auto& gpu = gpus[*index];
      return {std::make_unique<MachineMeter>(gpu.pci_bus_id), peak_flops(gpu.name, amp != "off")};
    }
  }
  return {std::make_unique<MachineMeter>()};
}

}  // namespace flowtrain
