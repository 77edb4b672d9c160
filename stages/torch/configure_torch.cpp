#include "stages/torch/configure_torch.h"

#include <ATen/Context.h>
#include <torch/utils.h>

#include <algorithm>
#include <string>
#include <thread>

#include "sampling/core/settings.h"

namespace flowtrain {

void conscalar_torch(const Settings& run, unsigned processes_here) {
  auto threads = static_cast<int>(run.integer("threads"));
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency() / processes_here));
  torch::set_num_threads(threads);
  const bool deterministic = run.boolean("deterministic");
  at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/true);
  // What kernels leave unwritten is no result of theirs; to fill new memory first costs a CPU 3 % of a step.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  at::globalContext().setDeterministicCuDNN(deterministic);
  const std::string& cudnn = run.text("cudnn");
  at::globalContext().setUserEnabledCuDNN(cudnn != "off");
  at::globalContext().setBenchmarkCuDNN(cudnn == "auto" && !deterministic);
}

}  // namespace flowtrain
