#include "stages/torch/model_parts.h"

#include "nets/losses/loss.h"
#include "nets/models/net.h"
#include "nets/optim/optimizer.h"
#include "stages/torch/hooks/built_in.h"
#include "stages/torch/learner/steps.h"
#include "stages/torch/validation/net_validator.h"

namespace flowtrain {

std::vector<std::pair<std::string, std::vector<std::string>>> model_parts() {
  return {{"nets", nets::net_names()},
          {"losses", nets::loss_names()},
          {"optimizers", nets::optimizer_names()},
          {"training steps", training_step_names()},
          {"hooks", hook_names()},
          {"metrics", validation_metric_names()}};
}

}  // namespace flowtrain
