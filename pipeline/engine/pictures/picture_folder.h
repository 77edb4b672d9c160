#pragma once
// The folder of validation pictures: runs/x/pictures/iter-00000500/00.png, …, pictures.json; those of a [[val.set]] are
// in a folder of its name below.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "pipeline/engine/validation/samples.h"
#include "stages/core/every.h"

namespace flowtrain {

/// Writes the samples of a validation to `folder/iter-…` (both made if missing, one of the same iteration replaced): it
/// appears whole or not at all. Throws UserError(snapshot) on failure.
void write_pictures(const std::filesystem::path& folder, std::uint64_t iteration,
                    std::span<const ShownSamples> samples);

/// Removes pictures older than the `keep_last` newest, except for iterations among `best` and those that are due by
/// `keep_every`, as prune() does with snapshots. Throws UserError(snapshot) if they cannot be removed.
void prune_pictures(const std::filesystem::path& folder, std::size_t keep_last, const Every& keep_every,
                    std::span<const std::uint64_t> best);

/// Removes pictures of later iterations and half-written ones, for a run that continues after `iteration`. It only
/// warns.
void remove_pictures_after(const std::filesystem::path& folder, std::uint64_t iteration);

}  // namespace flowtrain
