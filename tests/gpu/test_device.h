#pragma once
// The device on which the tests of this folder compute.

#include <c10/core/Device.h>

#include <cstdlib>
#include <memory>

#include "stages/device/device.h"
#include "tests/support/skip.h"

namespace flowtrain::testing {

/// FLOWTRAIN_TEST_DEVICE ("cpu", "cuda:0"); unless that is set, the first GPU where one answers, else the CPU.
inline at::Device test_device() {
  static const at::Device where = [] {
    if (const char* named = std::getenv("FLOWTRAIN_TEST_DEVICE")) return at::Device(named);
    return count_gpus() > 0 ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
  }();
  // Brings CUDA into the process.
  static const auto first = where.is_cpu() ? make_cpu_device() : make_cuda_device(where.index(), 1);
  return where;
}

/// Another one on it, for one slab.
inline std::unique_ptr<Device> make_test_device() {
  const at::Device where = test_device();
  return where.is_cpu() ? make_cpu_device() : make_cuda_device(where.index(), 1);
}

}  // namespace flowtrain::testing

#define SKIP_WITHOUT_GPU() \
  SKIP_UNLESS(!::flowtrain::testing::test_device().is_cpu(), "gpu", "the device of these tests is the CPU")
