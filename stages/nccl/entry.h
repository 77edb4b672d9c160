#pragma once
// What libflowtrain_nccl.so exports, for the program that opens it at run time: LibTorch's NCCL backend needs its CUDA
// libraries, which the program itself never links.

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>

namespace flowtrain {

/// From now on NCCL carries the group's tensors that are on GPUs; this process's are on `gpu`, which becomes the
/// calling thread's. A collective that takes longer than `timeout` ends the process, as LibTorch's watchdog and the
/// variables TORCH_NCCL_… have it. Throws std::exception.
using NcclEntry = void(c10d::ProcessGroup& group, const c10::intrusive_ptr<c10d::Store>& store, int gpu,
                       std::chrono::milliseconds timeout);

/// The file, and the name under which it exports that.
inline constexpr char nccl_parts[] = "libflowtrain_nccl.so";
inline constexpr char nccl_entry[] = "flowtrain_add_nccl";

}  // namespace flowtrain
