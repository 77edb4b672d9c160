#pragma once
// loader.workers = "auto": gives the tuner what it measures, and the loader and the learner what it finds.

#include "pipeline/graph/graph.h"
#include "pipeline/graph/tuner.h"
#include "pipeline/train/pace.h"
#include "stages/compute.h"

namespace flowtrain {

/// Tunes a line while it trains, until nothing more is to be tried.
class LoaderTuning {
 public:
  /// `tuner` may be null: the line keeps its shape.
  LoaderTuning(Tuner* tuner, Loader& line, Learner& learner) : tuner_(tuner), line_(line), learner_(learner) {}

  void after_iteration(const Pace::IterationTime& time);

 private:
  void tell() const;

  Tuner* tuner_;
  Loader& line_;
  Learner& learner_;
};

}  // namespace flowtrain
