#pragma once
// flowtrain's own shared objects that are opened on demand and not linked, and the LibTorch that they need.

#include <filesystem>

namespace flowtrain {

/// Returns the file of that name in the folder of the library (or program) that holds this code, or beside the program,
/// or in ../lib, which are the places in the build and the installed tree; empty if none has it.
std::filesystem::path find_part(const char* file_name);

/// Returns a file of share/flowtrain beside the folder of the library that holds this code, which is where an
/// installation has its configurations, such as "configs/quickstart.toml"; empty if it is not there.
std::filesystem::path find_shipped(const std::filesystem::path& file);

/// Opens a part for good (dlopen), with its symbols global, as LibTorch's libraries look up each other's.
/// `torch_library` is the library of LibTorch that it needs: it comes from the folder in the environment variable
/// FLOWTRAIN_TORCH (LibTorch's, a torch package's, or its parent), or from the part's run path. Returns null if it
/// cannot be opened; dlerror() says why. Throws UserError(usage) if FLOWTRAIN_TORCH names no LibTorch, or one of
/// another version.
void* open_part(const std::filesystem::path& part, const char* torch_library);

}  // namespace flowtrain
