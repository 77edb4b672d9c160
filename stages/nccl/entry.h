#pragma once
// The exports of libflowtrain_nccl.so for the program, which opens it at run time: LibTorch's NCCL backend needs its
// CUDA libraries, which the program itself never links.

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>

namespace flowtrain {

/// Makes NCCL carry the group's GPU tensors from now on; this process uses `gpu`, which becomes the calling thread's. A
/// collective that takes longer than `timeout` ends the process, as LibTorch's watchdog and the variables TORCH_NCCL_…
/// define it. Throws std::exception.
using NcclEntry = void(c10d::ProcessGroup& group, const c10::intrusive_ptr<c10d::Store>& store, int gpu,
                       std::chrono::milliseconds timeout);

/// The file and its exported name.
inline constexpr char nccl_parts[] = "libflowtrain_nccl.so";
inline constexpr char nccl_entry[] = "flowtrain_add_nccl";

}  // namespace flowtrain
