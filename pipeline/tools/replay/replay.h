#pragma once
// Replay: rebuilds exactly the batch that an iteration sees, and its loss and gradients.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "pipeline/base/config/config.h"
#include "stages/core/ticket.h"
#include "stages/model/compute.h"

namespace flowtrain {

/// The results of an iteration, and the snapshot from which it was trained again.
struct Recomputed {
  StepStats result;
  std::uint64_t after = 0;  ///< the snapshot's iteration; 0: the initial weights
  std::optional<std::filesystem::path> snapshot = {};
};

/// Writes iteration `iteration`'s batch into `folder` (made if missing): the picture of each row as row-NNNN.png, those
/// of further fields as row-NNNN.FIELD.png, erased and mixed as the net gets them, and batch.json with position, id,
/// source, label and hash of every row (as its sampler left it), its fields as people read them (`shown`), and what was
/// drawn to mix and erase it. With `computed` also the iteration's loss, its parts and the norm of its
/// gradients. Files of an earlier replay are removed first. Returns the number of rows. Throws UserError, also
/// check_replay_folder()'s.
std::uint64_t replay(const Config& config, std::uint64_t iteration, const std::filesystem::path& folder,
                     const Recomputed* computed = nullptr);

/// Throws UserError(usage) if a folder holds files that are not a replay. It is called before an iteration is computed.
void check_replay_folder(const std::filesystem::path& folder);

}  // namespace flowtrain
