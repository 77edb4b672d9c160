#pragma once
// Files on servers. The door to everything under sampling/remote/: data sets open files here, and read them as a
// ByteSource.

#include <memory>
#include <string>
#include <vector>

#include "sampling/remote/location.h"
#include "sampling/remote/remote_file.h"
#include "sampling/remote/scan_window.h"

namespace flowtrain {

struct Key;
class Settings;

/// The keys of a data set that may be remote: `requests`, `retries`, `timeout_s`, `cache` and `cache_mb`.
std::vector<Key> remote_keys();

/// What the settings say about connections and the cache. Throws UserError(data) for a cache folder that cannot be
/// written.
std::shared_ptr<const RemoteAccess> remote_access(const Settings& settings);

}  // namespace flowtrain
