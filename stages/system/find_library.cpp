#include "stages/system/find_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace fs = std::filesystem;

namespace {

// Returns the folder of the file that holds this code; empty if unknown.
fs::path own_folder() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<const void*>(&find_part), &info) == 0 ? fs::path()
                                                                         : fs::path(info.dli_fname).parent_path();
}

// cmake/LibTorch.cmake searches in the same order.
fs::path find_in_torch(const fs::path& torch, const char* library) {
  std::error_code ignored;
  for (const auto& candidate : {torch / "lib" / library, torch / "torch" / "lib" / library})
    if (fs::exists(candidate, ignored)) return candidate;
  throw UserError(ExitCode::usage, concat("FLOWTRAIN_TORCH=", torch.string(), " has no lib/", library),
                  "name the folder of a LibTorch, or of a Python environment's torch package");
}

}  // namespace

fs::path find_part(const char* file_name) {
  std::error_code ignored;
  const auto program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& folder : {own_folder(), program, program / ".." / "lib"})
    if (fs::exists(folder / file_name, ignored)) return folder / file_name;
  return {};
}

void* open_part(const fs::path& part, const char* torch_library) {
  // The part then uses that library, which is open already.
  if (const char* torch = std::getenv("FLOWTRAIN_TORCH"); torch != nullptr && *torch != '\0')
    if (::dlopen(find_in_torch(torch, torch_library).c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) return nullptr;
  return ::dlopen(part.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace flowtrain
