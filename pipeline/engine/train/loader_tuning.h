#pragma once
// loader.workers = "auto": gives the tuner what it measures, and the loader and the learner what it finds.

#include <optional>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/train/pace.h"
#include "pipeline/engine/verdict/load_meter.h"
#include "pipeline/engine/verdict/tuner.h"
#include "stages/model/compute.h"

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
