#include <dlfcn.h>

#include "pipeline/commands/computing/api.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/error.h"
#include "stages/system/find_library.h"

namespace flowtrain::commands {

namespace {

const ComputingParts& open_library() {
  const auto path = find_part(computing_library);
  if (path.empty())
    throw UserError(ExitCode::usage, concat(computing_library, " is neither beside the program nor in ../lib"),
                    "build with cmake/go build, or install with cmake --install");
  // Never closed, and global, as the CUDA parts need LibTorch's symbols. What it shares with the program is taken from
  // the program, which exports its symbols for that.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw UserError(ExitCode::usage, concat("LibTorch cannot be loaded: ", dlerror()),
                    "cmake/go build fetches the LibTorch that this program was built with");
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

#define FLOWTRAIN_COMMAND(...)
#define FLOWTRAIN_COMPUTING_COMMAND(function, ...)                 \
  int function(const Arguments& arguments, Interrupt& interrupt) { \
    return computing_parts().function(arguments, interrupt);       \
  }
#include "pipeline/commands/list.h"

}  // namespace flowtrain::commands
