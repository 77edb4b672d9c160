#pragma once
// The program's own shared objects that it does not link but opens when a config asks for them.

#include <filesystem>

namespace flowtrain {

/// The file of that name beside the program, or in ../lib: where the build and the installed tree have it. Empty: in
/// neither.
std::filesystem::path find_part(const char* file_name);

}  // namespace flowtrain
