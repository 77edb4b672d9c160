#pragma once
// Tunes the loader while it trains: loader.workers = "auto".

#include <optional>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/train/throughput_meter.h"
#include "pipeline/engine/verdict/load_meter.h"
#include "pipeline/engine/verdict/tuner.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// Gives the tuner the times of iterations, and its findings to the loader and the learner, until the tuner is done.
class LoaderTuning {
 public:
  /// `tuner` may be null: the loader keeps its shape.
  LoaderTuning(Tuner* tuner, Loader& loader, Learner& learner) : tuner_(tuner), loader_(loader), learner_(learner) {}

  /// `now` has the times of the compute thread.
  void after_iteration(const ThroughputMeter::IterationTime& time, const ConsumerTimes& now);

 private:
  void log_result() const;

  Tuner* tuner_;
  Loader& loader_;
  Learner& learner_;
  std::optional<LoadMeter> since_change_;  // The first iteration begins it.
};

}  // namespace flowtrain
