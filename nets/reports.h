#pragma once
// Values that a net logs.

#include <string>
#include <vector>

namespace flowtrain::nets {

/// What a Net is, too, if it logs something. An interface of its own: nets that log nothing, and plugins among them,
/// stay as they are.
class Reports {
 public:
  virtual ~Reports() = default;
  /// Outputs of forward() that are logged with the loss while training: scalars, means over the batch's rows.
  virtual std::vector<std::string> scalars() const = 0;
};

}  // namespace flowtrain::nets
