#include "nets/package/compiled_graph.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>

#include <filesystem>

#include "nets/package/host_shortages.h"
#include "sampling/core/out_of_memory.h"
#include "sampling/core/text.h"

namespace flowtrain::nets {

namespace fs = std::filesystem;

// LibTorch's own loader (AOTIModelPackageLoader) leaves its folder of code behind if the process is killed. On the CPU
// the folder is removed as soon as the code is mapped.
CompiledGraph::CompiledGraph(const PackageArchive& archive, const std::string& name, at::Device device)
    : what_(concat("package ", archive.path(), ": the graph '", name, "'")), device_(device) {
  const fs::path library = archive.extract_code(name, folder_.path());
  const auto& makers = torch::inductor::getAOTIModelRunnerRegistry();
  const auto maker = makers.find(at::DeviceTypeName(device.type(), /*lower_case=*/true));
  if (maker == makers.end()) throw archive.error("this LibTorch cannot run compiled graphs on " + device.str());
  try {
    // A runner for several threads would wait for the run before; a GPU need not, and a captured graph cannot.
    runner_ = maker->second(library.string(), /*num_models=*/1, device.str(), folder_.path().string(),
                            /*run_single_threaded=*/true);
  } catch (const std::exception& error) {
    throw std::invalid_argument(what_ + " cannot be loaded: " + first_line_of(error));
  }
  if (device.is_cpu()) folder_.remove();
}

CompiledGraph::~CompiledGraph() = default;

namespace {

// Returns how often the device has failed to provide memory.
std::int64_t shortages_of(at::Device device) {
  return device.is_cpu() ? host_shortages()
                         : c10::getDeviceAllocator(device.type())->getDeviceStats(device.index()).num_ooms;
}

}  // namespace

void CompiledGraph::bind(const NamedTensors& tensors) {
  bound_.clear();
  torch::inductor::TensorConstantMap constants;
  for (const auto& [own_name, name] : runner_->getConstantNamesToOriginalFQNs()) {
    if (!tensors.contains(name))
      throw std::invalid_argument(what_ + " needs the tensor '" + name + "', but was not given it");
    constants[own_name] = &(bound_[own_name] = tensors.at(name).detach());
  }
  runner_->update_constant_buffer(constants, /*use_inactive=*/false, /*validate_full_updates=*/true,
                                  /*user_managed=*/true);
}

std::vector<at::Tensor> CompiledGraph::run(const std::vector<at::Tensor>& inputs) const {
  const at::NoGradGuard no_gradients;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  // The graph's loops take as many threads as OpenMP has for the calling thread; this call sets them to LibTorch's.
  at::init_num_threads();
  const at::RecordFunctionGuard unseen(false);  // watchers see it as one operation
  const std::int64_t shortages = shortages_of(device_);
  try {
    return runner_->run(inputs);
  } catch (const std::exception& error) {
    // The code reports an error as a number only, and prints the text to stderr.
    const bool out_of_memory = shortages_of(device_) > shortages;
    if (out_of_memory && device_.is_cpu()) throw OutOfMemory("out of memory: " + what_ + " needs more than there is");
    TORCH_CHECK_WITH(OutOfMemoryError, !out_of_memory, what_, ": out of memory on ", device_.str());
    // A lost device throws an error of its own here, which callers can recognise.
    if (!device_.is_cpu()) c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(device_.index());
    throw std::runtime_error(what_ + " failed, see the messages above: " + first_line_of(error));
  }
}

}  // namespace flowtrain::nets
