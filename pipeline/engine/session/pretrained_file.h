#pragma once
// Finds the file of net.pretrain: a path, or an address whose file is fetched once.

#include <filesystem>

namespace flowtrain {

class Group;
class Interrupt;
class Settings;

/// Returns the path of net.pretrain. The file of an address is kept as flowtrain/weights/<sha256> in the user's cache
/// (XDG_CACHE_HOME, or ~/.cache). A file whose SHA-256 (FIPS 180-4) is not net.sha256 is refused. Rank 0 fetches and
/// checks, however long that takes; the others wait and get an empty path. Throws UserError: usage if there is no such
/// file or no net.sha256 for an address, data if the server fails or gives another file, or the exit code of
/// `interrupt` (may be null) if that asks for the end.
std::filesystem::path pretrained_file(const Settings& net, Group& group, Interrupt* interrupt = nullptr);

}  // namespace flowtrain
