#include "pipeline/base/telemetry/machine_meter.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>

#include "tests/support/paths.h"

namespace flowtrain::machine_meter_test {

namespace {

// The first look is made on a thread of its own.
MachineUse first_look(const MachineMeter& meter) {
  for (int i = 0; i < 5000 && std::isnan(meter.now().gpu_memory_mb); ++i) ::usleep(1000);
  return meter.now();
}

}  // namespace

TEST_CASE("the memory of a process is known at once; of a CPU there is nothing else") {
  const MachineUse use = MachineMeter().now();
  CHECK(use.host_memory_mb > 1);
  CHECK(use.host_memory_mb < 1e6);
  CHECK(std::isnan(use.gpu_memory_mb));
  CHECK(std::isnan(use.gpu_utilisation));
}

TEST_CASE("a GPU's memory and utilisation are those that the driver tells") {
  const MachineMeter meter("0000:03:00.0", test::build_path("lib/libfake_nvml.so"));
  const MachineUse use = first_look(meter);
  CHECK(use.gpu_memory_mb == 4096);
  for (int i = 0; i < 5000 && std::isnan(meter.now().gpu_utilisation); ++i) ::usleep(1000);
  CHECK(meter.now().gpu_utilisation == 0.75);
}

TEST_CASE("without a driver, or for a GPU that it does not know, nothing is told") {
  { const MachineMeter no_driver("0000:03:00.0", "libnothing.so.1"); }
  const MachineMeter other("0000:99:00.0", test::build_path("lib/libfake_nvml.so"));
  CHECK(other.now().host_memory_mb > 1);
  CHECK(std::isnan(other.now().gpu_memory_mb));
}

}  // namespace flowtrain::machine_meter_test
