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

/// Writes what a validation shows to `folder/iter-…` (both made if missing, one of the same iteration replaced): it
/// appears whole or not at all. Throws UserError(snapshot) where that cannot be written.
void write_pictures(const std::filesystem::path& folder, std::uint64_t iteration,
                    std::span<const ShownSamples> samples);

/// Removes those older than the `keep_last` newest, but for iterations among `best` and those that are due by
/// `keep_every`: what prune() does with snapshots. Throws UserError(snapshot) where they cannot be removed.
void prune_pictures(const std::filesystem::path& folder, std::size_t keep_last, const Every& keep_every,
                    std::span<const std::uint64_t> best);

/// For a run that goes on after `iteration`: removes those of later iterations, and what a kill left half written. A
/// warning where that fails.
void remove_pictures_after(const std::filesystem::path& folder, std::uint64_t iteration);

}  // namespace flowtrain
