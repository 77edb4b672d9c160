#pragma once
// What libflowtrain_cuda.so exports, for the program that opens it at run time: the program itself never links CUDA.

#include <cstddef>
#include <cstdint>

#include "stages/device/device.h"
#include "stages/device/device_graph.h"
#include "stages/device/device_range.h"

namespace flowtrain {

/// The GPU `index` for `slots` slabs, page-locked with `pin`, owned by the caller; null with a message (ended by 0) in
/// `error` where none answers.
using CudaDeviceEntry = Device*(int index, std::uint32_t slots, bool pin, char* error, std::size_t error_size);

/// The name under which it is exported.
inline constexpr char cuda_device_entry[] = "flowtrain_cuda_device";

/// A graph of work on the GPU `index`, owned by the caller. Not exported where LibTorch came without CUDA.
using CudaGraphEntry = WorkGraph*(int index);
inline constexpr char cuda_graph_entry[] = "flowtrain_cuda_graph";

/// NVTX, for good. Not exported where its headers were missing.
using CudaRangesEntry = const RangeCalls*();
inline constexpr char cuda_ranges_entry[] = "flowtrain_cuda_ranges";

}  // namespace flowtrain
