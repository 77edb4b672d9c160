#pragma once
// Measures the model's input: the loader, and the thread that takes its batches.

#include <chrono>
#include <cstdint>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/verdict/model.h"

namespace flowtrain {

/// Times of the thread that takes a loader's batches, since it began, without pauses.
struct ConsumerTimes {
  double wall_s = 0, wait_s = 0, exchange_s = 0;  ///< whole time; waits for batches; waits for gradients
  std::uint64_t samples = 0;                      ///< number that it took
  bool computes = true;                           ///< PipelineLoad::computes
};

/// Measures the load of a pipeline since its start. The thread that takes the batches calls it.
class LoadMeter {
 public:
  /// Starts the meter. The loader must outlive it.
  LoadMeter(const Loader& loader, const ConsumerTimes& now);

  PipelineLoad load(const ConsumerTimes& now) const;

 private:
  const Loader* loader_;
  LoaderTimes times_;
  ConsumerTimes consumer_;
  double cpu_s_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Returns the CPU seconds of all threads of this process.
double process_cpu_s();

}  // namespace flowtrain
