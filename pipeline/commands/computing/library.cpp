// The entry of libflowtrain_torch.so.

#include "pipeline/commands/computing/parts.h"
#include "stages/system/heap.h"
#include "stages/torch/learner/learner.h"
#include "stages/torch/model_parts.h"

namespace flowtrain::commands {

extern "C" const ComputingParts* flowtrain_computing_parts() {
  keep_freed_memory();
  static constexpr ComputingParts parts{computing::train, computing::test, computing::bench,       make_torch_learner,
                                        model_parts,      torch_version,   computing::plugin_facts};
  return &parts;
}
static_assert(std::is_same_v<decltype(flowtrain_computing_parts), ComputingEntry>);

}  // namespace flowtrain::commands
