#pragma once
// Hashes of files that a configuration names.

#include <optional>
#include <string>

namespace flowtrain {

/// Returns xxHash64 of a file's bytes, or of the names and sizes of the files in a folder or archive, as 16 lower-case
/// hex digits; nothing if it cannot be read.
std::optional<std::string> xxh64_of_path(const std::string& path);

}  // namespace flowtrain
