// Opens libflowtrain_torch.so.

#include <dlfcn.h>

#include <cstdlib>

#include "pipeline/library/computing.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/system/find_library.h"

namespace flowtrain {

namespace {

// LibTorch's OpenMP reads the environment when it is loaded. By default, its threads wait for one another in long
// loops, which take the cores from the loader, and from other processes; where a container has a quota, they use that
// up. A thousand spins take some microseconds, the time between two parts of a step.
void shorten_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
}

const ComputingParts& open_library() {
  shorten_spinning();
  const auto path = find_part(computing_library);
  if (path.empty())
    throw UserError(ExitCode::usage, concat(computing_library, " is neither beside the program nor in ../lib"),
                    "build with cmake/go build, or install with cmake --install");
  void* library = open_part(path, "libtorch_cpu.so");
  if (library == nullptr)
    throw UserError(ExitCode::usage, concat("training needs LibTorch, which cannot be loaded: ", dlerror()),
                    "install LibTorch beside flowtrain's Python package: pip install torch==" FLOWTRAIN_TORCH_VERSION
                    "; or name its folder: FLOWTRAIN_TORCH=/path/to/site-packages/torch");
  auto* entry = reinterpret_cast<ComputingEntry*>(dlsym(library, computing_entry));
  if (entry == nullptr)
    throw UserError(ExitCode::usage, path.string() + " comes from another version of flowtrain",
                    "build or install this one again");
  return *entry();
}

}  // namespace

const ComputingParts& computing_parts() {
  static const ComputingParts& parts = open_library();
  return parts;
}

}  // namespace flowtrain
