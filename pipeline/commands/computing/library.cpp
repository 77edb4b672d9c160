// The entry of libflowtrain_torch.so.

#include "pipeline/commands/computing/parts.h"
#include "stages/torch/learner.h"

namespace flowtrain::commands {

extern "C" const ComputingParts* flowtrain_computing_parts() {
  static constexpr ComputingParts parts{computing::train, computing::test, computing::bench, model_parts, torch_version};
  return &parts;
}
static_assert(std::is_same_v<decltype(flowtrain_computing_parts), ComputingEntry>);

}  // namespace flowtrain::commands
