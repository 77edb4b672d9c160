#pragma once
// What a learner is made of: settings, and the batches it will get. No torch here.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sampling/images/mix.h"
#include "sampling/settings.h"
#include "stages/compute.h"
#include "stages/group.h"

namespace flowtrain {

/// What --no-optim leaves out.
enum class TrainMode {
  full,
  no_step,      ///< --no-optim=backward: forward, loss and backward, no update
  forward_only  ///< --no-optim: forward and loss
};

/// The references must outlive the learner.
struct LearnerSpec {
  const Settings& net;
  const Settings& loss;
  const Settings& optim;
  const Settings& train;
  const Settings& run;
  const Settings& val;
  const SlabLayout& train_layout;
  const SlabLayout* val_layout = nullptr;  ///< null without validation
  std::int64_t classes = 0;                ///< of the data set
  std::string device = "cpu";              ///< Device::name()
  std::uint64_t seed = 0;
  TrainMode mode = TrainMode::full;
  Mixing mixing = {};                      ///< of training batches
  unsigned processes_here = 1;             ///< on this machine, that share its cores
  const Settings* sampler = nullptr;       ///< with `detect`: [sampler], for a detector's validation
  const Settings* detect = nullptr;        ///< [detect]; null where no objects are looked for
  const Settings* dist = nullptr;          ///< [dist]; null where one process trains
  Group* group = &solo_group();            ///< of a distributed run: a TorchGroup
};

/// How a run gets its learner: make_torch_learner, or what a test brings.
using MakeLearner = std::function<std::unique_ptr<Learner>(const LearnerSpec&)>;

}  // namespace flowtrain
