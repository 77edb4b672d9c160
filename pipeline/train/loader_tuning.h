#pragma once
// loader.workers = "auto": gives the tuner what it measures, and the loader and the learner what it finds.

#include <optional>

#include "pipeline/graph/graph.h"
#include "pipeline/graph/tuner.h"
#include "pipeline/train/pace.h"
#include "pipeline/verdict/load_meter.h"
#include "stages/compute.h"

namespace flowtrain {

/// Tunes a loader while it trains, until nothing more is to be tried.
struct LoaderTuning {
  Tuner* tuner;  ///< null: the loader keeps its shape
  Loader& loader;
  Learner& learner;

  /// `now`: of the compute thread.
  void after_iteration(const Pace::IterationTime& time, const ConsumerTimes& now);

  std::optional<LoadMeter> since_change = {};  ///< begun by after_iteration()

 private:
  void tell() const;
};

}  // namespace flowtrain
