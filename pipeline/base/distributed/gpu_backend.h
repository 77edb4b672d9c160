#pragma once
// Chooses the backend that carries GPU tensors between the training processes.

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>
#include <string>

namespace flowtrain {

/// Makes the backend of choose_backend() carry tensors on `device` ("cuda:N"); `gloo` is the group's own for the CPU.
/// Throws UserError(usage) if no GPU answers, or the library does not load.
void add_gpu_backend(c10d::ProcessGroup& group, const c10::intrusive_ptr<c10d::Store>& store,
                     const c10::intrusive_ptr<c10d::Backend>& gloo, const std::string& backend,
                     const std::string& device, std::chrono::milliseconds timeout);

}  // namespace flowtrain
