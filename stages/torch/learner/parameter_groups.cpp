#include "stages/torch/learner/parameter_groups.h"

#include <algorithm>
#include <optional>

#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/torch/learner/name_patterns.h"

namespace flowtrain {

namespace {

// Where an optimizer is said to learn a parameter: without params it is all of them.
const char* claim_of(const Settings& optim) {
  return optim.given("params") ? "params" : optim.given("label") ? "label" : "name";
}

std::size_t only_owner(const std::string& name, const std::vector<std::size_t>& owners,
                       const std::vector<Settings>& optims) {
  if (owners.empty())
    throw optims.front().error("params", "no optimizer learns the parameter " + name, ExitCode::usage,
                               "widen params, or freeze it: [[group]] with frozen = true");
  if (owners.size() > 1)
    throw optims[owners[1]].error(claim_of(optims[owners[1]]),
                                  concat("the parameter ", name, " belongs to another optimizer, too (",
                                         optims[owners[0]].origin(claim_of(optims[owners[0]])).text(), ")"),
                                  ExitCode::usage, "each parameter has one optimizer");
  return owners.front();
}

nets::ParameterGroup empty_group(const Settings& optim, const Settings* group) {
  nets::ParameterGroup made;
  made.weight_decay = optim.real("weight_decay");
  if (!group) return made;
  made.lr_mult = group->real("lr_mult");
  if (group->real("weight_decay") >= 0) made.weight_decay = group->real("weight_decay");
  return made;
}

}  // namespace

SharedOut share_out(const nets::NamedTensors& parameters, const std::vector<Settings>& optims,
                    const std::vector<Settings>& groups) {
  NamePatterns owners(optims), kinds(groups);
  // By optimizer; the first is of those that no [[group]] matches.
  std::vector<std::vector<nets::ParameterGroup>> parts;
  for (auto& optim : optims) {
    auto& own = parts.emplace_back();
    own.push_back(empty_group(optim, nullptr));
    for (auto& group : groups) own.push_back(empty_group(optim, &group));
  }

  SharedOut result;
  for (const auto& [name, parameter] : parameters) {
    const auto of = kinds.matching(name);
    const auto optim = owners.matching(name);
    if (!of.empty() && groups[of.front()].boolean("frozen"))
      result.frozen.insert(name);
    else
      parts[only_owner(name, optim, optims)][of.empty() ? 0 : of.front() + 1].parameters.add(name, parameter);
  }
  owners.check_used(parameters);
  kinds.check_used(parameters);

  for (auto& own : parts) {
    std::erase_if(own, [](auto& group) { return group.parameters.empty(); });
    result.optimizers.push_back(std::move(own));
  }
  return result;
}

}  // namespace flowtrain
