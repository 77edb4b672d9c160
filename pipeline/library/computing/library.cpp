// The entry of libflowtrain_torch.so.

#include "pipeline/library/computing/commands.h"
#include "stages/system/malloc_tuning.h"
#include "stages/torch/learner/learner.h"

namespace flowtrain {

extern "C" const ComputingParts* flowtrain_computing_parts() {
  keep_freed_memory();
  static constexpr ComputingParts parts{
      computing::train,   computing::bench,   computing::test, computing::export_net,
      computing::average, make_torch_learner, torch_version,   torch_folder,
  };
  return &parts;
}
static_assert(std::is_same_v<decltype(flowtrain_computing_parts), ComputingEntry>);

}  // namespace flowtrain
