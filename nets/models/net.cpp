#include "nets/models/net.h"

#include <array>
#include <stdexcept>

#include "nets/cornernet/cornernet.h"
#include "nets/models/gan.h"
#include "nets/models/module.h"
#include "nets/names.h"

namespace flowtrain::nets {
namespace {

/// A classifier behind the door of Net.
class ClassifierNet final : public ModuleNet {
 public:
  explicit ClassifierNet(std::shared_ptr<Classifier> module) : ModuleNet(module), classifier_(std::move(module)) {}

  NamedTensors forward(const NamedTensors& batch) override {
    // Under autocast the last layer gives a reduced type; losses and metrics want f32.
    return {{"logits", classifier_->forward(batch.at("image")).to(at::kFloat)}};
  }
  bool may_give(const std::string& output) const override { return output == "logits"; }

 private:
  std::shared_ptr<Classifier> classifier_;
};

using Made = std::unique_ptr<Net>;

Made classifier(std::shared_ptr<Classifier> module) { return std::make_unique<ClassifierNet>(std::move(module)); }
Made corner_net(const NetSpec& spec) { return std::make_unique<CornerNet>(spec); }

struct Entry {
  const char* name;
  std::int64_t least_side;  ///< smallest height and width, pixels
  Made (*make)(const NetSpec&);
};

// Sorted by name. Depths of the ResNets: K. He et al., "Deep residual learning for image recognition", CVPR 2016,
// table 1.
constexpr std::array<Entry, 10> entries = {{
    {"cornernet", 1, corner_net},
    {"cornernet_saccade", 1, corner_net},
    {"cornernet_squeeze", 1, corner_net},
    {"gan", 8, [](const NetSpec& spec) -> Made { return std::make_unique<Gan>(spec); }},
    {"lenet", 12, [](const NetSpec& spec) { return classifier(make_lenet(spec)); }},
    {"mlp", 1, [](const NetSpec& spec) { return classifier(make_mlp(spec)); }},
    {"resnet101", 1,
     [](const NetSpec& spec) {
       return classifier(make_resnet(spec, {true, {3, 4, 23, 3}}));
     }},
    {"resnet18", 1,
     [](const NetSpec& spec) {
       return classifier(make_resnet(spec, {false, {2, 2, 2, 2}}));
     }},
    {"resnet34", 1,
     [](const NetSpec& spec) {
       return classifier(make_resnet(spec, {false, {3, 4, 6, 3}}));
     }},
    {"resnet50", 1,
     [](const NetSpec& spec) {
       return classifier(make_resnet(spec, {true, {3, 4, 6, 3}}));
     }},
}};

void check(const NetSpec& spec, const Entry& entry) {
  const std::string net = "net " + spec.name + ": ";
  if (spec.classes < 1) {
    throw std::invalid_argument(net + "classes is " + std::to_string(spec.classes) + ", expected 1 or more");
  }
  if (spec.channels < 1) {
    throw std::invalid_argument(net + "channels is " + std::to_string(spec.channels) + ", expected 1 or more");
  }
  if (!(spec.dropout >= 0 && spec.dropout < 1)) {
    throw std::invalid_argument(net + "dropout is " + std::to_string(spec.dropout) + ", expected 0 <= dropout < 1");
  }
  if (spec.height < entry.least_side || spec.width < entry.least_side) {
    const std::string least = std::to_string(entry.least_side);
    throw std::invalid_argument(net + "pictures are " + std::to_string(spec.height) + " x " +
                                std::to_string(spec.width) + " pixels, expected " + least + " x " + least + " or more");
  }
}

}  // namespace

std::unique_ptr<Net> make_net(const NetSpec& spec) {
  if (!spec.script.empty()) {
    if (!spec.name.empty()) {
      throw std::invalid_argument("both a net's name ('" + spec.name + "') and a script ('" + spec.script +
                                  "') are given, expected one of them");
    }
    return make_script_net(spec.script, spec.inputs);
  }
  if (!spec.inputs.empty()) throw std::invalid_argument("inputs are for a script's arguments, and no script is given");
  for (const Entry& entry : entries) {
    if (spec.name != entry.name) continue;
    check(spec, entry);
    return entry.make(spec);
  }
  throw unknown_name("net", spec.name, net_names());
}

std::vector<std::string> net_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

NetSummary summary(const Net& net) {
  NetSummary summary;
  for (const auto& [name, tensor] : net.parameters()) {
    ++summary.tensors;
    summary.parameters += tensor.numel();
    summary.bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return summary;
}

}  // namespace flowtrain::nets
