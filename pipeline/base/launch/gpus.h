#pragma once
// Which of this machine's GPUs a run uses: `--gpus`.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/launch/variables.h"

namespace flowtrain {

/// A GPU, and who computes on it now.
struct GpuUse {
  std::string uuid;          ///< "GPU-…"
  unsigned processes = 0;    ///< with a CUDA context there, of all users
  std::uint64_t used = 0;    ///< bytes of its memory
  std::uint64_t memory = 0;  ///< bytes
};

/// All GPUs of this machine, as the driver's library `nvml` lists them, in the order of the PCI bus; makes no context.
/// Throws UserError(usage) where there is no driver, or it does not answer.
std::vector<GpuUse> query_gpus(const std::string& nvml = "libnvidia-ml.so.1");

/// What CUDA_VISIBLE_DEVICES is to be for `--gpus wish`, among those that it leaves now: "0,2" (the first and the third
/// of them; UUIDs are taken as they are), or "idle:2" (two without a process, those with the most free memory first).
/// Nothing for a rank that our own launcher started: it has inherited the choice. Throws UserError(usage).
std::optional<std::string> choose_gpus(
    const std::string& wish, const Environment& environment,
    const std::function<std::vector<GpuUse>()>& look = [] { return query_gpus(); });

}  // namespace flowtrain
