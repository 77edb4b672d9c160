#include "pipeline/base/distributed/gpu_backend.h"

#include <dlfcn.h>

#include "pipeline/base/distributed/rendezvous.h"
#include "pipeline/base/distributed/store.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/device/device.h"
#include "stages/nccl/entry.h"
#include "stages/system/find_library.h"

namespace flowtrain {

namespace {

constexpr char lacks_nccl[] = "this build of flowtrain lacks libflowtrain_nccl.so";

UserError no_nccl(const std::string& message) {
  return UserError(ExitCode::usage, "dist.backend = nccl: " + message,
                   "docs/install.md lists what CUDA and NCCL need; dist.backend = \"gloo\" needs neither");
}

NcclEntry& open_nccl() {
  const auto path = find_part(nccl_parts);
  void* library = open_part(path, "libtorch_cuda.so");
  if (library == nullptr) throw no_nccl(std::string("it cannot be loaded: ") + dlerror());
  auto* entry = reinterpret_cast<NcclEntry*>(dlsym(library, nccl_entry));
  if (entry == nullptr) throw no_nccl(path.string() + " comes from another version of flowtrain");
  return *entry;
}

}  // namespace

std::string choose_backend(const Settings& dist, const std::string& device) {
  const std::string& backend = dist.text("backend");
  if (backend == "gloo" || (backend == "auto" && device == "cpu")) return "gloo";
  if (device == "cpu")
    throw dist.error("backend", "nccl connects GPUs, but this run computes on the CPU", ExitCode::usage,
                     "leave it at \"auto\", or give --device cuda on a machine with a GPU");
  if (!find_part(nccl_parts).empty()) return "nccl";
  if (backend == "nccl") throw no_nccl(lacks_nccl);
  return "gloo";
}

void add_gpu_backend(c10d::ProcessGroup& group, const c10::intrusive_ptr<c10d::Store>& store,
                     const c10::intrusive_ptr<c10d::Backend>& gloo, const std::string& backend,
                     const std::string& device, std::chrono::milliseconds timeout) {
  const int gpu = std::stoi(device.substr(device.find(':') + 1));
  make_cuda_device(gpu, 1);  // registers CUDA with LibTorch, or says why no GPU answers
  if (backend == "gloo") {
    group.setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::GLOO, gloo);
    if (group.getRank() == 0 && find_part(nccl_parts).empty())
      log_warn(std::string(lacks_nccl) + ": GPUs exchange data through the CPUs, over Gloo (docs/install.md)");
    return;
  }
  NcclEntry& add_nccl = open_nccl();
  try {
    add_nccl(group, store, gpu, timeout);
  } catch (const std::exception& error) {
    throw no_nccl(first_line(error.what()));
  }
}

}  // namespace flowtrain
