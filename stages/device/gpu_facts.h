#pragma once
// Which GPUs a machine has, and what is between them and the net: for env.json.

#include <cstdint>
#include <string>
#include <vector>

namespace flowtrain {

/// Versions as "13.0" or "9.12.0"; empty: not there, or not loaded.
struct GpuFacts {
  std::string cuda;         ///< the CUDA that LibTorch computes with
  std::string cuda_driver;  ///< the newest one that the driver knows
  std::string cudnn, nccl;
  struct Gpu {
    std::string name;
    std::uint64_t memory_bytes = 0;
    std::string pci_bus_id = {};  ///< "0000:3B:00.0", by which NVML knows it
    std::string capability = {};  ///< "sm_90": what code has to be compiled for; empty: the driver does not say
  };
  std::vector<Gpu> gpus = {};  ///< those that CUDA_VISIBLE_DEVICES leaves
};

/// Asks the driver, and of LibTorch's libraries those that are loaded by then (make_cuda_device() loads them). Makes no
/// context, which would take memory of a GPU. `driver`: its library, loaded for good; empty: the system's, where the
/// machine has a GPU.
GpuFacts gpu_facts(std::string driver = {});

}  // namespace flowtrain
