#pragma once
// What an iteration is to do. The plan travels with the iteration's batches, so that nobody downstream asks a schedule.

#include <cstdint>
#include <vector>

namespace flowtrain {

/// What an optimizer works with in one iteration.
struct HyperParameters {
  double lr = 0;
  double momentum = 0;      ///< of sgd; of adam and adamw the first of betas
  double weight_decay = 1;  ///< what the weight decay of all its parameters is multiplied by
  bool operator==(const HyperParameters&) const = default;
};

/// A pure function of the iteration, made before its data is read.
struct Plan {
  std::uint64_t iteration = 0;   ///< from 1
  bool validates = false;        ///< after it
  bool saves = false;            ///< after it: a snapshot
  bool saves_by_period = false;  ///< that snapshot is one that each run of this configuration has, wherever it ends
  bool last = false;             ///< of the run
  std::vector<HyperParameters> hyper = {};  ///< one for each optimizer, as scheduled; the schedule's node fills it in
};

}  // namespace flowtrain
