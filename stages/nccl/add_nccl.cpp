#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/env.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "stages/nccl/entry.h"

namespace flowtrain {

namespace {

// The library fills in the members that nccl.h declared when LibTorch was compiled. Spare room makes a longer one
// visible.
struct Options : c10d::ProcessGroupNCCL::Options {
  char room[4096];
};

std::string version(unsigned code) {  // the code is NCCL_VERSION_CODE since 2.9
  return std::to_string(code / 10000) + '.' + std::to_string(code / 100 % 100) + '.' + std::to_string(code % 100);
}

c10::intrusive_ptr<c10d::ProcessGroupNCCL::Options> make_options() {
  auto options = c10::make_intrusive<Options>();
  if (options->config.version / 100 != NCCL_VERSION_CODE / 100)
    throw std::runtime_error("LibTorch was built with NCCL " + version(options->config.version) +
                             ", flowtrain with the nccl.h of " + version(NCCL_VERSION_CODE));
  return options;
}

}  // namespace

}  // namespace flowtrain

extern "C" void flowtrain_add_nccl(c10d::ProcessGroup& group, const c10::intrusive_ptr<c10d::Store>& store, int gpu,
                                   std::chrono::milliseconds timeout) {
  static_assert(std::is_same_v<decltype(flowtrain_add_nccl), flowtrain::NcclEntry>);
  auto options = flowtrain::make_options();
  options->timeout = timeout;
  // NCCL's watchdog sleeps four times this long before it ends a process whose collective takes too long, so that
  // others can write their record of collectives: by default a minute, by which dist.timeout may be over.
  c10::utils::set_env(c10d::TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC.front().c_str(), "100", /*overwrite=*/false);
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(gpu));  // an invalid number would make a context on the first GPU
  group.setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL,
                   c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>("nccl", store),
                                                               group.getRank(), group.getSize(), options));
}
