#pragma once
// The LibTorch learner: net, loss, optimizer and metrics behind the compute stage's door. This header needs no torch.

#include <memory>
#include <string>

#include "sampling/settings.h"
#include "stages/compute.h"

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
  std::vector<std::string> metrics;  ///< of validation, beside the loss
  const SlabLayout& train_layout;
  const SlabLayout* val_layout;      ///< null without validation
  std::int64_t classes;              ///< of the data set
  Device& device;
  std::uint64_t seed;
  TrainMode mode = TrainMode::full;
};

/// Builds everything with weights drawn from the seed. Throws UserError(usage) for settings that do not fit.
std::unique_ptr<Learner> make_learner(const LearnerSpec& spec);

/// LibTorch's version, for env.json.
std::string torch_version();

}  // namespace flowtrain
