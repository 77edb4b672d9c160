#pragma once
// Measures what the model needs to know of a loader and of the thread that takes its batches.

#include <chrono>
#include <cstdint>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/verdict/model.h"

namespace flowtrain {

/// Of the thread that takes a loader's batches, since it began, without pauses.
struct ConsumerTimes {
  double wall_s = 0, wait_s = 0, exchange_s = 0;  ///< in all; waiting for batches; for other processes' gradients
  std::uint64_t samples = 0;                      ///< that it took
  bool computes = true;                           ///< PipelineLoad::computes
};

/// The load of a pipeline since the meter was started. The thread that takes the batches calls.
class LoadMeter {
 public:
  /// Starts it. The loader must outlive it.
  LoadMeter(const Loader& loader, const ConsumerTimes& now);

  PipelineLoad load(const ConsumerTimes& now) const;

 private:
  const Loader* loader_;
  LoaderTimes times_;
  ConsumerTimes consumer_;
  double cpu_s_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Seconds that all threads of this process have computed.
double process_cpu_s();

}  // namespace flowtrain
