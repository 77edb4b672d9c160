#pragma once
// Chooses this machine's GPUs for a run (`--gpus`).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/launch/variables.h"

namespace flowtrain {

/// A GPU and its current load.
struct GpuUse {
  std::string uuid;          ///< "GPU-…"
  unsigned processes = 0;    ///< number with a CUDA context there, of all users
  std::uint64_t used = 0;    ///< bytes of its memory
  std::uint64_t memory = 0;  ///< bytes
};

/// Returns all GPUs of this machine from the driver's library `nvml`, in the order of the PCI bus, without making a
/// context. Throws UserError(usage) if there is no driver, or it does not answer.
std::vector<GpuUse> query_gpus(const std::string& nvml = "libnvidia-ml.so.1");

/// Returns the value of CUDA_VISIBLE_DEVICES for `--gpus` as `requested`, among those that it leaves now: "0,2" (the
/// first and the third of them; UUIDs are kept), or "idle:2" (two without a process, those with the most free memory
/// first). It returns nothing for a rank that our own launcher started and that has inherited the choice. Throws
/// UserError(usage).
std::optional<std::string> choose_gpus(
    const std::string& requested, const Environment& environment,
    const std::function<std::vector<GpuUse>()>& look = [] { return query_gpus(); });

}  // namespace flowtrain
