#pragma once
// Values that a net logs.

#include <string>
#include <vector>

namespace flowtrain::nets {

/// A second interface of a Net that logs values. It is apart from Net so that nets that log nothing, plugins among
/// them, need no change.
class Reports {
 public:
  virtual ~Reports() = default;
  /// Returns the outputs of forward() that training logs with the loss: scalars, means over the batch's rows.
  virtual std::vector<std::string> scalars() const = 0;
};

}  // namespace flowtrain::nets
