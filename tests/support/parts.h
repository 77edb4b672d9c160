#pragma once
// Parts of a model for tests, made as a configuration's tables would have it.

#include <string>
#include <utility>
#include <vector>

#include "nets/steps/make.h"

namespace flowtrain::testing {

/// Keys that are not as by default.
using Values = std::vector<std::pair<std::string, Value>>;

/// The table of the part `name`: its entry's keys, and `more` that its table has itself.
template <class Part, class Input>
Settings table_of(const Registry<Part, Input>& registry, const std::string& name, const Values& values = {},
                  std::vector<Key> more = {}) {
  std::vector<Key> keys{{"name", Kind::text, name, "the name"}};
  keys.insert(keys.end(), more.begin(), more.end());
  for (auto& key : registry.at(name).keys) keys.push_back(key);
  Settings settings(registry.kind(), std::move(keys));
  for (auto& [key, value] : values) settings.set(key, value, {"test.toml", 1, 1});
  return settings;
}

/// A net, and what it is made for.
struct NetOf {
  std::string name;
  nets::NetInput input = {};
  Values keys = {};
};
inline std::unique_ptr<nets::Net> make_net(const NetOf& net) {
  return nets::make_net(table_of(nets::nets(), net.name, net.keys), net.input);
}

/// `classes`: of the data; 0: not known.
inline std::unique_ptr<nets::Loss> make_loss(const std::string& name, const Values& keys = {},
                                             std::int64_t classes = 0) {
  return nets::make_loss(table_of(nets::losses(), name, keys), {classes});
}

/// An optimizer, and what [optim] says of it.
struct OptimizerOf {
  std::string name = "sgd";
  double lr = 0.1;
  double weight_decay = 0;  ///< used for all parameters if there are no groups
  Values keys = {};
};
inline std::unique_ptr<nets::Optimizer> make_optimizer(const OptimizerOf& optimizer,
                                                       const std::vector<nets::ParameterGroup>& groups) {
  const std::vector<Key> more{{"lr", Kind::real, optimizer.lr, "base learning rate"}};
  return nets::make_optimizer(table_of(nets::optimizers(), optimizer.name, optimizer.keys, more), groups);
}
inline std::unique_ptr<nets::Optimizer> make_optimizer(const OptimizerOf& optimizer,
                                                       const nets::NamedTensors& parameters) {
  return make_optimizer(optimizer, std::vector<nets::ParameterGroup>{{parameters, 1, optimizer.weight_decay}});
}

/// Makes a metric as val.metrics does.
inline std::unique_ptr<nets::Metric> make_metric(const std::string& name, std::int64_t classes = 0) {
  return nets::make_metric(Settings("val", nets::find_metric(name)->keys), {classes, name});
}

}  // namespace flowtrain::testing
