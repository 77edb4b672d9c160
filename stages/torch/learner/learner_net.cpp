#include "stages/torch/learner/learner_net.h"

#include <torch/utils.h>

#include "nets/make.h"
#include "nets/mistake.h"
#include "sampling/core/random.h"
#include "sampling/core/settings.h"
#include "stages/torch/learner/init_rules.h"

namespace flowtrain {

std::shared_ptr<nets::Net> make_learner_net(const LearnerSpec& spec) {
  nets::NetInput input{.classes = spec.classes};
  for (auto& field : spec.train_layout.fields())
    if (field.name == "image" && field.shape.size() == 3)
      input.height = field.shape[0], input.width = field.shape[1], input.channels = field.shape[2];
  torch::manual_seed(Stream(spec.seed, Purpose::init, 0).next64());
  std::shared_ptr<nets::Net> net =
      nets::rethrow_at_key(spec.net, "name", [&] { return nets::make_net(spec.net, input); });
  if (spec.init)
    apply_init_rules(*spec.init, net->parameters());  // before they are on a device, whose generator is another
  net->to(at::Device(spec.device), spec.net.boolean("channels_last"));
  return net;
}

}  // namespace flowtrain
