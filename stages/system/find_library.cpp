#include "stages/system/find_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
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

// Returns the version that a torch package or an unpacked LibTorch states of itself, "2.11.0", or an empty text.
std::string version_of(const fs::path& torch) {
  for (const auto* name : {"version.py", "build-version"}) {
    std::ifstream file(torch / name);
    const std::string text{std::istreambuf_iterator(file), {}};
    if (const auto begin = text.find_first_of("0123456789"); begin != text.npos)
      return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
  }
  return {};
}

// Throws UserError(usage) for a version whose libraries do not fit: the first two numbers count.
void check_version(const fs::path& torch) {
#ifdef FLOWTRAIN_TORCH_VERSION
  const std::string wanted = FLOWTRAIN_TORCH_VERSION, found = version_of(torch);
  const auto minor = [](const std::string& version) { return version.substr(0, version.rfind('.')); };
  if (!found.empty() && minor(found) != minor(wanted))
    throw UserError(ExitCode::usage,
                    concat(torch.string(), " is LibTorch ", found, ", but flowtrain needs ", minor(wanted)),
                    concat("install it there: pip install torch==", wanted,
                           "; or name another folder: FLOWTRAIN_TORCH=/path/to/torch"));
#else
  static_cast<void>(torch);
#endif
}

// cmake/LibTorch.cmake searches in the same order.
fs::path find_in_torch(const fs::path& torch, const char* library) {
  std::error_code ignored;
  for (const auto& folder : {torch, torch / "torch"}) {
    if (!fs::exists(folder / "lib" / library, ignored)) continue;
    check_version(folder);
    return folder / "lib" / library;
  }
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

fs::path find_shipped(const fs::path& file) {
  std::error_code ignored;
  const auto place = own_folder() / ".." / "share" / "flowtrain" / file;
  return file.is_relative() && fs::exists(place, ignored) ? place.lexically_normal() : fs::path();
}

void* open_part(const fs::path& part, const char* torch_library) {
  // The part then uses that library, which is open already.
  if (const char* torch = std::getenv("FLOWTRAIN_TORCH"); torch != nullptr && *torch != '\0')
    if (::dlopen(find_in_torch(torch, torch_library).c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) return nullptr;
  return ::dlopen(part.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace flowtrain
