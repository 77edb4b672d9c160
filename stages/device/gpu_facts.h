#pragma once
// The GPUs of a machine and the software between them and the net, for env.json.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// Versions read "13.0" or "9.12.0"; empty if the library is missing or not loaded.
struct GpuFacts {
  std::string cuda;         ///< the CUDA that LibTorch computes with
  std::string cuda_driver;  ///< the newest one that the driver knows
  std::string cudnn, nccl;
  struct Gpu {
    std::string name;
    std::uint64_t memory_bytes = 0;
    std::string pci_bus_id = {};  ///< "0000:3B:00.0", the id that NVML uses
    std::string capability = {};  ///< "sm_90", the target that code is compiled for; empty if the driver does not say
  };
  std::vector<Gpu> gpus = {};  ///< GPUs that CUDA_VISIBLE_DEVICES leaves
};

/// Asks the driver and those of LibTorch's libraries that are loaded by then (make_cuda_device() loads them). It makes
/// no context, which would take GPU memory. `driver` is its library, loaded for good; empty: the system's, if there is
/// a GPU.
GpuFacts gpu_facts(std::string driver = {});

}  // namespace flowtrain
