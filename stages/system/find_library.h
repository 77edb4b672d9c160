#pragma once
// flowtrain's own shared objects that are not linked but opened when they are needed, and the LibTorch that they need.

#include <filesystem>

namespace flowtrain {

/// The file of that name in the folder of the library (or program) that holds this code, or beside the program, or in
/// ../lib: where the build and the installed tree have it. Empty: in none of them.
std::filesystem::path find_part(const char* file_name);

/// Returns a file of share/flowtrain beside the folder of the library that holds this code: where an installation has
/// its configurations, "configs/quickstart.toml". Empty: it is not there.
std::filesystem::path find_shipped(const std::filesystem::path& file);

/// Opens a part for good (dlopen), with its symbols for all that is opened later, as LibTorch's libraries look up each
/// other's. `torch_library` is the library of LibTorch that it needs: it comes from the folder that the environment
/// variable FLOWTRAIN_TORCH names (LibTorch's, a torch package's, or the one above it), and where that is not set from
/// the part's run path. Null: dlerror() says why. Throws UserError(usage) where FLOWTRAIN_TORCH names no LibTorch, or
/// one of another version.
void* open_part(const std::filesystem::path& part, const char* torch_library);

}  // namespace flowtrain
