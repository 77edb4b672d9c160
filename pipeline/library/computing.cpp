// Opens libflowtrain_torch.so.

#include <dlfcn.h>

#include "pipeline/commands/computing/api.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/system/find_library.h"

namespace flowtrain::commands {

namespace {

const ComputingParts& open_library() {
  const auto path = find_part(computing_library);
  if (path.empty())
    throw UserError(ExitCode::usage, concat(computing_library, " is neither beside the program nor in ../lib"),
                    "build with cmake/go build, or install with cmake --install");
  void* library = open_part(path, "libtorch_cpu.so");
  if (library == nullptr)
    throw UserError(ExitCode::usage, concat("LibTorch cannot be loaded: ", dlerror()),
                    "training needs LibTorch " FLOWTRAIN_TORCH_VERSION
                    ": get it with `cmake/go build`, or with `pip "
                    "install torch==" FLOWTRAIN_TORCH_VERSION
                    "`, and name its folder: "
                    "FLOWTRAIN_TORCH=/path/to/site-packages/torch");
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

}  // namespace flowtrain::commands
