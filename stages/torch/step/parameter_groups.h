#pragma once
// Parameters chosen by their names ([[optim]], [[group]], [[net.init]]), and distributed over [[optim]] and [[group]].

#include <set>
#include <string>
#include <vector>

#include "nets/optim/optimizer.h"
#include "sampling/core/pattern.h"

namespace flowtrain {

class Settings;

/// Finds the tables whose `params` match a name, and remembers which have matched at all.
class NamePatterns {
 public:
  /// `tables` must outlive it.
  explicit NamePatterns(const std::vector<Settings>& tables);

  /// Returns their indices, in the order of the tables. Throws UserError(usage) for a pattern with too many steps.
  std::vector<std::size_t> matching(const std::string& name);
  /// Throws UserError(usage) for a pattern that has matched no parameter; it names similar parameters.
  void check_used(const nets::NamedTensors& parameters) const;

 private:
  const std::vector<Settings>& tables_;
  std::vector<Pattern> patterns_;
  std::vector<bool> used_;
};

/// The distribution of parameters: each belongs to one optimizer, or is frozen.
struct AssignedParameters {
  std::vector<std::vector<nets::ParameterGroup>> optimizers;  ///< ordered as [[optim]]
  std::set<std::string> frozen;
};

/// Distributes the parameters. Throws UserError(usage) for a pattern that matches nothing, a parameter of two
/// optimizers, and one of none.
AssignedParameters assign_parameters(const nets::NamedTensors& parameters, const std::vector<Settings>& optims,
                                     const std::vector<Settings>& groups);

}  // namespace flowtrain
