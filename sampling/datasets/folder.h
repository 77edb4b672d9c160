#pragma once
// What data sets that live in a folder share: finding that folder, with one wording for what can go wrong.

#include <filesystem>

#include "sampling/settings.h"

namespace flowtrain {

/// The folder that the key `path` names. Throws UserError(data) if the key is empty or there is no such folder.
std::filesystem::path existing_folder(const Settings& settings);

}  // namespace flowtrain
