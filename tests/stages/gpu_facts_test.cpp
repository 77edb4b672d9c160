#include "stages/device/gpu_facts.h"
#include "tests/support/paths.h"

#include <doctest/doctest.h>

namespace flowtrain::gpu_facts_test {

TEST_CASE("versions, and GPUs by name and memory; nothing of what is not there") {
  const GpuFacts none = gpu_facts("no_such_driver.so");
  CHECK(none.cuda_driver.empty());
  CHECK(none.gpus.empty());

  const GpuFacts facts = gpu_facts(test::build_path("lib/libfake_cuda.so"));
  CHECK(facts.cuda == "12.8");
  CHECK(facts.cuda_driver == "13.1");
  CHECK(facts.cudnn == "9.10.2");
  CHECK(facts.nccl == "2.28.3");
  REQUIRE(facts.gpus.size() == 2);
  CHECK(facts.gpus[1].name == "Drawn GPU 1");
  CHECK(facts.gpus[1].memory_bytes == std::uint64_t{16} << 30);
  CHECK(facts.gpus[1].pci_bus_id == "0000:03:00.0");
}

}  // namespace flowtrain::gpu_facts_test
