#include "nets/steps/make.h"

#include <ATen/ATen.h>

#include <cmath>
#include <stdexcept>

#include "nets/optim/precision.h"

namespace flowtrain::nets {

#define FLOWTRAIN_FILE(file) void FLOWTRAIN_ENTRIES(file)(Parts&);
#include "nets/list.h"
#undef FLOWTRAIN_FILE

namespace {

void set_makes() {
  static const bool once [[maybe_unused]] = [] {
    Parts parts{{nets(), true}, {losses(), true}, {optimizers(), true}, {metrics(), true}, {steps(), true}};
#define FLOWTRAIN_FILE(file) FLOWTRAIN_ENTRIES(file)(parts);
#include "nets/list.h"
#undef FLOWTRAIN_FILE
    return true;
  }();
}

template <class Part, class Input>
std::unique_ptr<Part> made(const Registry<Part, Input>& registry, const Settings& settings, const Input& input) {
  set_makes();
  return registry.at(settings.text("name")).make(settings, input);
}

void check(const std::string& name, const NetInput& input, std::int64_t least) {
  const std::string net = "net " + name + ": ";
  if (input.classes < 1)
    throw std::invalid_argument(c10::str(net, "classes is ", input.classes, ", expected 1 or more"));
  if (input.channels < 1)
    throw std::invalid_argument(c10::str(net, "channels is ", input.channels, ", expected 1 or more"));
  if (input.height < least || input.width < least)
    throw std::invalid_argument(c10::str(net, "pictures are ", input.height, " x ", input.width, " pixels, expected ",
                                         least, " x ", least, " or more"));
}

void check(const std::string& name, const std::vector<ParameterGroup>& groups) {
  const std::string optimizer = "optimizer " + name + ": ";
  const auto expect = [&](const char* key, double value) {
    if (!std::isfinite(value) || value < 0)
      throw std::invalid_argument(c10::str(optimizer, key, " is ", value, ", expected 0 or more"));
  };
  NamedTensors parameters;
  for (const ParameterGroup& group : groups) {
    expect("lr_mult", group.lr_mult);
    expect("weight_decay", group.weight_decay);
    for (const auto& [each, parameter] : group.parameters) parameters.add(each, parameter);
  }
  if (parameters.empty()) throw std::invalid_argument(optimizer + "the net has no parameters to learn");
  const auto& [first_name, first] = *parameters.begin();
  for (const auto& [each, parameter] : parameters)  // one fused call takes one type on one device
    if (state_type(parameter) != state_type(first) || parameter.device() != first.device())
      throw std::invalid_argument(c10::str(optimizer, "parameter ", each, " is ", parameter.scalar_type(), " on ",
                                           parameter.device(), ", but ", first_name, " is ", first.scalar_type(),
                                           " on ", first.device(), "; expected one type on one device"));
}

}  // namespace

std::unique_ptr<Net> make_net(const Settings& settings, const NetInput& input) {
  const std::string& name = settings.text("name");
  if (const std::int64_t least = nets().at(name).traits.least_side; least > 0) check(name, input, least);
  return made(nets(), settings, input);
}

std::unique_ptr<Loss> make_loss(const Settings& settings, const LossInput& input) {
  return made(losses(), settings, input);
}

std::unique_ptr<Optimizer> make_optimizer(const Settings& settings, const std::vector<ParameterGroup>& groups) {
  const std::string& name = settings.text("name");
  optimizers().at(name);  // an unknown name is reported first
  check(name, groups);
  return made(optimizers(), settings, OptimizerInput{groups});
}

std::unique_ptr<Metric> make_metric(const Settings& settings, const MetricInput& input) {
  set_makes();
  return find_metric(input.name)->make(settings, input);
}

std::unique_ptr<Step> make_step(const Settings& settings, const StepInput& input) {
  return made(steps(), settings, input);
}

}  // namespace flowtrain::nets
