#include "stages/device/gpu_peaks.h"

#include <doctest/doctest.h>

namespace flowtrain::gpu_peaks_test {

TEST_CASE("peaks of GPUs by the driver's names; those of others are not known") {
  CHECK(peak_flops("NVIDIA H100 80GB HBM3", true) == doctest::Approx(989.4e12));
  CHECK(peak_flops("NVIDIA H100 80GB HBM3", false) == doctest::Approx(494.7e12));
  CHECK(peak_flops("NVIDIA H100 PCIe", true) == doctest::Approx(756.4e12));
  CHECK(peak_flops("NVIDIA A100-SXM4-40GB", true) == doctest::Approx(311.9e12));
  CHECK(peak_flops("NVIDIA A10G", true) == doctest::Approx(70e12));
  CHECK(peak_flops("NVIDIA A10", true) == doctest::Approx(125e12));
  CHECK(peak_flops("Tesla V100-SXM2-16GB", true) == doctest::Approx(125e12));
  CHECK(peak_flops("Tesla V100-PCIE-16GB", true) == doctest::Approx(112e12));
  CHECK(peak_flops("Tesla T4", false) == doctest::Approx(8.1e12));
  CHECK(peak_flops("NVIDIA L40S", true) == doctest::Approx(362.1e12));
  for (auto unknown : {"NVIDIA T400", "NVIDIA A100X", "Drawn GPU 1", ""}) CHECK(peak_flops(unknown, true) == 0);
}

}  // namespace flowtrain::gpu_peaks_test
