#include "stages/torch/learner/learner_net.h"

#include <torch/utils.h>

#include "sampling/core/random.h"
#include "stages/torch/learner/init_rules.h"
#include "stages/torch/learner/net_spec.h"
#include "stages/torch/learner/steps.h"
#include "stages/torch/plugin.h"

namespace flowtrain {

std::shared_ptr<nets::Net> make_learner_net(const LearnerSpec& spec) {
  nets::NetSpec wished = net_spec_of(spec.net, spec.classes);
  for (auto& field : spec.train_layout.fields())
    if (field.name == "image" && field.shape.size() == 3)
      wished.height = field.shape[0], wished.width = field.shape[1], wished.channels = field.shape[2];
  torch::manual_seed(Stream(spec.seed, Purpose::init, 0).next64());
  const std::string key = net_key(spec.net);
  std::shared_ptr<nets::Net> net = made_from(spec.net, key, [&] {
    return key == "plugin" ? Plugin(spec.net, PluginKind::net).net(wished) : nets::make_net(wished);
  });
  if (spec.init)
    apply_init_rules(*spec.init, net->parameters());  // before they are on a device, whose generator is another
  net->to(at::Device(spec.device), spec.net.boolean("channels_last"));
  return net;
}

}  // namespace flowtrain
