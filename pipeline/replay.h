#pragma once
// Replay: rebuilds exactly the batch that an iteration sees (promise P7).

#include <cstdint>
#include <filesystem>

#include "pipeline/config/config.h"

namespace flowtrain {

/// Writes iteration `iteration`'s batch into `folder` (made if missing): u8 pictures as row-NNNN.png, erased and mixed as
/// the net gets them, and batch.json with position, id, source, label and hash of every row (as its sampler left it) and
/// what was drawn to mix and erase it. Returns the number of rows.
/// Throws UserError.
std::uint64_t replay(const Config& config, std::uint64_t iteration, const std::filesystem::path& folder);

}  // namespace flowtrain
