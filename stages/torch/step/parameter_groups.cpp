#include "stages/torch/step/parameter_groups.h"

#include <algorithm>
#include <string_view>

#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

// Returns the length of the longest common text: a pattern is seldom near a whole name.
std::size_t longest_in_both(std::string_view a, std::string_view b) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t length = 0;
      while (i + length < a.size() && j + length < b.size() && a[i + length] == b[j + length]) ++length;
      longest = std::max(longest, length);
    }
  return longest;
}

std::string most_alike(const std::string& pattern, const nets::NamedTensors& parameters) {
  std::vector<std::pair<std::size_t, std::string>> names;
  for (const auto& [name, parameter] : parameters) names.emplace_back(longest_in_both(pattern, name), name);
  std::stable_sort(names.begin(), names.end(), [](auto& a, auto& b) { return a.first > b.first; });
  names.resize(std::min<std::size_t>(names.size(), 3));
  return join(names, ", ", &std::pair<std::size_t, std::string>::second);
}

// Returns the key that claims parameters for an optimizer: without params it takes all of them.
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

NamePatterns::NamePatterns(const std::vector<Settings>& tables) : tables_(tables), used_(tables.size()) {
  for (auto& table : tables) patterns_.emplace_back(table.text("params"));
}

std::vector<std::size_t> NamePatterns::matching(const std::string& name) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < patterns_.size(); ++i) try {
      if (patterns_[i].found_in(name)) found.push_back(i), used_[i] = true;
    } catch (const PatternError& error) {
      throw tables_[i].error("params", error.what());
    }
  return found;
}

void NamePatterns::check_used(const nets::NamedTensors& parameters) const {
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i])
      throw tables_[i].error("params", "matches no parameter of the net", ExitCode::usage,
                             concat("the most similar are ", most_alike(tables_[i].text("params"), parameters),
                                    "; without this table `flowtrain info CONFIG` lists all"));
}

AssignedParameters assign_parameters(const nets::NamedTensors& parameters, const std::vector<Settings>& optims,
                                     const std::vector<Settings>& groups) {
  NamePatterns owners(optims), kinds(groups);
  // The entries are by optimizer; its first holds the parameters that no [[group]] matches.
  std::vector<std::vector<nets::ParameterGroup>> parts;
  for (auto& optim : optims) {
    auto& own = parts.emplace_back();
    own.push_back(empty_group(optim, nullptr));
    for (auto& group : groups) own.push_back(empty_group(optim, &group));
  }

  AssignedParameters result;
  for (const auto& [name, parameter] : parameters) {
    const auto of = kinds.matching(name);
    const auto optim = owners.matching(name);
    // A parameter that the net's loss does not reach learns nothing.
    if (!parameter.requires_grad() || (!of.empty() && groups[of.front()].boolean("frozen")))
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
