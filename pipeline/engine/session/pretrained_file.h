#pragma once
// The file of net.pretrain: a path, or an address whose file is fetched once.

#include <filesystem>

namespace flowtrain {

class Group;
class Interrupt;
class Settings;

/// net.pretrain's path; of an address what was fetched from it, kept as flowtrain/weights/<sha256> in the user's cache
/// (XDG_CACHE_HOME, or ~/.cache). A file whose SHA-256 (FIPS 180-4) is not net.sha256 is refused. Rank 0 fetches and
/// checks, however long that takes, and the others, for which the path is empty, wait. Throws UserError: usage where
/// there is no such file or no net.sha256 for an address, data where the server fails or gives another file; where
/// `interrupt` (may be null) asks for the end, with its exit code.
std::filesystem::path pretrained_file(const Settings& net, Group& group, Interrupt* interrupt = nullptr);

}  // namespace flowtrain
