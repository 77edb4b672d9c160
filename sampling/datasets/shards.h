#pragma once
// Which files the shards of a data set are.

#include <string>
#include <vector>

namespace flowtrain {

class Settings;

/// The tar shards that the keys `path` and `split` name, in order; local ones exist. `path` is one shard, a pattern
/// "a-{000..127}.tar", or a folder; of a folder, `split` names a sub-folder, a shard or a pattern in it (default: its
/// sub-folder train, or val or test to validate, if there is one, else the folder itself). Of a remote `path` (see
/// is_remote) shards are named one by one or by a pattern, and whether they exist is not looked at. Throws UserError:
/// usage for a pattern that cannot be read, data for what is not there.
std::vector<std::string> find_shards(const Settings& settings, bool training);

}  // namespace flowtrain
