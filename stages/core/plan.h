#pragma once
// The plan of an iteration. It travels with the iteration's batches, so no later stage asks a schedule.

#include <cstdint>
#include <vector>

namespace flowtrain {

/// The hyper-parameters of one optimizer in one iteration.
struct HyperParameters {
  double lr = 0;
  double momentum = 0;      ///< momentum of sgd; first of the betas of adam and adamw
  double weight_decay = 1;  ///< factor on the weight decay of all its parameters
  bool operator==(const HyperParameters&) const = default;
};

/// The plan is a pure function of the iteration, made before its data is read.
struct Plan {
  std::uint64_t iteration = 0;              ///< number of the iteration, counted from 1
  bool validates = false;                   ///< a validation follows
  bool saves = false;                       ///< a snapshot follows
  bool saves_by_period = false;             ///< each run of this configuration saves that snapshot, wherever it ends
  bool last = false;                        ///< this is the run's last iteration
  std::vector<HyperParameters> hyper = {};  ///< scheduled values of each optimizer; the schedule node fills them in
};

}  // namespace flowtrain
