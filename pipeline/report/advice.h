#pragma once
// Explains where the time went: which stage the net waited for, and what to change.

#include <string>

#include "pipeline/graph/graph.h"

namespace flowtrain {

/// What is known of a loader after some time.
struct LoaderLoad {
  LoaderTimes times;
  double wall_s = 0, wait_s = 0;  ///< of the consumer's loop; and of that, waiting for a batch
  unsigned workers = 1, readers = 1, cores = 1;
};

/// One stage's share of what its threads could have done, 0 … 1.
double busy(double stage_s, unsigned threads, double wall_s);

/// "the net waited for data 12.0 % of the time, for `sample` (2 workers, 97 % busy): raise loader.workers". Below one
/// percent it only states the value.
std::string waiting_advice(const LoaderLoad& load);

}  // namespace flowtrain
