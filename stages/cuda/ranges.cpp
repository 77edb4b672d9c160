// NVTX consists of headers alone; an attached profiler supplies the implementation.

#include <nvtx3/nvToolsExt.h>

#include <type_traits>

#include "stages/device/cuda_entry.h"

extern "C" const flowtrain::RangeCalls* flowtrain_cuda_ranges() {
  static_assert(std::is_same_v<decltype(flowtrain_cuda_ranges), flowtrain::CudaRangesEntry>);
  static constexpr flowtrain::RangeCalls calls{[](const char* name) { nvtxRangePushA(name); }, [] { nvtxRangePop(); }};
  return &calls;
}
