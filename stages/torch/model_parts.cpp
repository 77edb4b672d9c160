#include "stages/torch/model_parts.h"

#include "nets/loss.h"
#include "nets/net.h"
#include "nets/optimizer.h"
#include "stages/torch/hooks/built_in.h"
#include "stages/torch/net_validator.h"
#include "stages/torch/steps.h"

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
