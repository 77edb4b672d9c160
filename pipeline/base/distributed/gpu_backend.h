#pragma once
// What carries tensors that are on GPUs between the processes that train together.

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>
#include <string>

namespace flowtrain {

/// Lets the backend that choose_backend() names carry what is on `device` ("cuda:N"); `gloo` is the group's own for
/// the CPU. Throws UserError(usage) where no GPU answers, or the library does not load.
void add_gpu_backend(c10d::ProcessGroup& group, const c10::intrusive_ptr<c10d::Store>& store,
                     const c10::intrusive_ptr<c10d::Backend>& gloo, const std::string& backend,
                     const std::string& device, std::chrono::milliseconds timeout);

}  // namespace flowtrain
