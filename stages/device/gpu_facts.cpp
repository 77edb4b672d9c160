#include "stages/device/gpu_facts.h"

#include <dlfcn.h>

#include <array>

#include "sampling/core/text.h"
#include "stages/device/device.h"

namespace flowtrain {
namespace {

constexpr int success = 0;  // the success code of all libraries asked here

// Returns a function of whichever library has it; null if that is not loaded.
template <class Signature>
Signature* find(const char* name) {
  return reinterpret_cast<Signature*>(dlsym(RTLD_DEFAULT, name));
}

// CUDA counts 13010 for 13.1.
std::string cuda_version(int (*ask)(int*)) {
  int version = 0;
  if (ask == nullptr || ask(&version) != success || version == 0) return {};
  return concat(version / 1000, '.', version % 1000 / 10);
}

// NCCL (since 2.9) and cuDNN (since 9) count 91200 for 9.12.0.
std::string library_version(std::size_t version) {
  return version == 0 ? "" : concat(version / 10000, '.', version / 100 % 100, '.', version % 100);
}

std::string nccl_version() {
  auto* ask = find<int(int*)>("ncclGetVersion");
  int version = 0;
  return ask != nullptr && ask(&version) == success ? library_version(static_cast<std::size_t>(version)) : "";
}

std::string cudnn_version() {
  auto* ask = find<std::size_t()>("cudnnGetVersion");
  return ask != nullptr ? library_version(ask()) : "";
}

std::string capability_of(int device) {
  constexpr int major_version = 75, minor_version = 76;  // CUdevice_attribute of cuda.h
  auto* ask = find<int(int*, int, int)>("cuDeviceGetAttribute");
  int major = 0, minor = 0;
  if (ask == nullptr || ask(&major, major_version, device) != success || ask(&minor, minor_version, device) != success)
    return {};
  return concat("sm_", major, minor);
}

std::vector<GpuFacts::Gpu> list_gpus() {
  auto* count_devices = find<int(int*)>("cuDeviceGetCount");
  auto* get_device = find<int(int*, int)>("cuDeviceGet");
  auto* get_name = find<int(char*, int, int)>("cuDeviceGetName");
  auto* get_memory = find<int(std::size_t*, int)>("cuDeviceTotalMem_v2");
  auto* get_bus_id = find<int(char*, int, int)>("cuDeviceGetPCIBusId");
  int count = 0;
  if (count_devices == nullptr || get_device == nullptr || get_name == nullptr || get_memory == nullptr) return {};
  if (count_devices(&count) != success) return {};
  std::vector<GpuFacts::Gpu> gpus;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    if (get_device(&device, i) != success || get_name(name.data(), static_cast<int>(name.size()), device) != success)
      continue;
    get_memory(&bytes, device);
    std::array<char, 32> bus_id{};
    if (get_bus_id != nullptr) get_bus_id(bus_id.data(), static_cast<int>(bus_id.size()), device);
    gpus.push_back({name.data(), bytes, bus_id.data(), capability_of(device)});
  }
  return gpus;
}

}  // namespace

GpuFacts gpu_facts(std::string driver) {
  GpuFacts facts;
  if (driver.empty() && count_gpus() > 0) driver = "libcuda.so.1";
  if (!driver.empty() && dlopen(driver.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) {
    auto* initialise = find<int(unsigned)>("cuInit");
    if (initialise != nullptr && initialise(0) == success) {
      facts.cuda_driver = cuda_version(find<int(int*)>("cuDriverGetVersion"));
      facts.gpus = list_gpus();
    }
  }
  facts.cuda = cuda_version(find<int(int*)>("cudaRuntimeGetVersion"));
  facts.cudnn = cudnn_version();
  facts.nccl = nccl_version();
  return facts;
}

}  // namespace flowtrain
