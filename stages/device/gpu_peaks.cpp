#include "stages/device/gpu_peaks.h"

#include <string_view>

namespace flowtrain {

namespace {

struct Peak {
  std::string_view name;  // part of the driver's name
  double half, single;    // TFLOP/s, without sparsity
};

// The first entry that fits counts, so longer names precede their own beginnings.
constexpr Peak peaks[] = {
    {"B200", 2250, 1125},
    {"GH200", 989.4, 494.7},
    {"H200 NVL", 835.5, 417.7},
    {"H200", 989.4, 494.7},
    {"H100 PCIe", 756.4, 378.2},
    {"H100 NVL", 835.5, 417.7},
    {"H100", 989.4, 494.7},
    {"A100", 311.9, 156},
    {"A40", 149.7, 74.8},
    {"A30", 165, 82},
    {"A10G", 70, 35},
    {"A10", 125, 62.5},
    {"RTX A6000", 154.8, 77.4},
    {"RTX 6000 Ada", 364.2, 182.1},
    {"L40S", 362.1, 183.1},
    {"L40", 181.1, 90.5},
    {"L4", 121, 60},
    {"V100-PCIE", 112, 14},
    {"V100", 125, 15.7},
    {"T4", 65, 8.1},
    {"RTX 4090", 165.2, 82.6},
    {"RTX 3090", 71, 35.6},
};

}  // namespace

double peak_flops(const std::string& name, bool half) {
  // Names match as whole words: an "A100X" or a "T400" is another GPU.
  const auto is_part = [](char c) { return c != ' ' && c != '-'; };
  for (auto& peak : peaks) {
    const auto at = name.find(peak.name);
    if (at == name.npos || (at > 0 && is_part(name[at - 1]))) continue;
    const auto end = at + peak.name.size();
    if (end == name.size() || !is_part(name[end])) return (half ? peak.half : peak.single) * 1e12;
  }
  return 0;
}

}  // namespace flowtrain
