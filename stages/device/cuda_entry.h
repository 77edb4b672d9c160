#pragma once
// The exports of libflowtrain_cuda.so for the program, which opens it at run time and never links CUDA itself.

#include <cstddef>
#include <cstdint>

#include "stages/device/device.h"
#include "stages/device/device_graph.h"
#include "stages/device/device_range.h"

namespace flowtrain {

/// Makes the GPU `index` for `slots` slabs, page-locked with `pin`, owned by the caller; returns null, with a message
/// (ended by 0) in `error`, if none answers.
using CudaDeviceEntry = Device*(int index, std::uint32_t slots, bool pin, char* error, std::size_t error_size);

inline constexpr char cuda_device_entry[] = "flowtrain_cuda_device";

/// Makes a graph of work on the GPU `index`, owned by the caller. It is not exported if LibTorch came without CUDA.
using CudaGraphEntry = WorkGraph*(int index);
inline constexpr char cuda_graph_entry[] = "flowtrain_cuda_graph";

/// Returns the functions of NVTX, which stay valid. It is not exported if NVTX's headers were missing.
using CudaRangesEntry = const RangeCalls*();
inline constexpr char cuda_ranges_entry[] = "flowtrain_cuda_ranges";

}  // namespace flowtrain
