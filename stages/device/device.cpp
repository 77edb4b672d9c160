#include "stages/device/device.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <new>
#include <system_error>

#include "sampling/core/error.h"
#include "stages/device/cpu_device.h"
#include "stages/device/cuda_entry.h"
#include "stages/system/find_library.h"

namespace flowtrain {
namespace {

constexpr char cuda_parts[] = "libflowtrain_cuda.so";

}  // namespace

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

std::unique_ptr<Device> make_cuda_device(int index, std::uint32_t slots, bool pin) {
  const std::string name = "cuda:" + std::to_string(index);
  const auto parts = find_part(cuda_parts);
  if (parts.empty()) {
    throw UserError(ExitCode::usage, name + ": this build of flowtrain has no CUDA parts (" + cuda_parts + ")",
                    "Install the CUDA toolkit (nvcc) and build again, or train on the CPU: run.device = \"cpu\".");
  }
  // The driver comes first: without it the loader's error would name some other library.
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw UserError(ExitCode::usage, name + ": no GPU answers: the NVIDIA driver (libcuda.so.1) is not on this machine",
                    "Install the driver, or train on the CPU: run.device = \"cpu\".");
  }
  // The library is never closed: LibTorch keeps pointers into it.
  void* library = open_part(parts, "libtorch_cuda.so");
  if (library == nullptr) {
    throw UserError(ExitCode::usage, name + ": the CUDA parts cannot be loaded: " + dlerror(),
                    "Run cmake/go build on this machine: if a GPU answers, it installs LibTorch's CUDA libraries.");
  }
  auto* entry = reinterpret_cast<CudaDeviceEntry*>(dlsym(library, cuda_device_entry));
  if (entry == nullptr) {
    throw UserError(ExitCode::usage, name + ": " + parts.string() + " lacks " + cuda_device_entry,
                    "It comes from another version of flowtrain: build or install this one again.");
  }
  if (auto* ranges = reinterpret_cast<CudaRangesEntry*>(dlsym(library, cuda_ranges_entry))) report_ranges_to(ranges());
  std::array<char, 512> error{};
  std::unique_ptr<Device> device(entry(index, slots, pin, error.data(), error.size()));
  if (!device) {
    throw UserError(ExitCode::usage, name + ": " + error.data(),
                    "Look at nvidia-smi and CUDA_VISIBLE_DEVICES, or train on the CPU: run.device = \"cpu\".");
  }
  return device;
}

MakeWorkGraph cuda_work_graphs(int index) {
  auto* entry = reinterpret_cast<CudaGraphEntry*>(dlsym(RTLD_DEFAULT, cuda_graph_entry));
  if (entry == nullptr) return {};
  return [entry, index] { return std::unique_ptr<WorkGraph>(entry(index)); };
}

int count_gpus() {
  std::error_code ignored;
  // The driver's device nodes (the second is WSL's) are checked first because loading the driver is slow.
  if (!std::filesystem::exists("/dev/nvidiactl", ignored) && !std::filesystem::exists("/dev/dxg", ignored)) return 0;
  if (find_part(cuda_parts).empty()) return 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (driver == nullptr) return 0;
  auto* initialise = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto* count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  if (initialise == nullptr || count_devices == nullptr || initialise(0) != 0 || count_devices(&count) != 0) return 0;
  return count;
}

}  // namespace flowtrain
