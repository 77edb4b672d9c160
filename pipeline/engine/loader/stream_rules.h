#pragma once
// The conditions for a stream of samples that can be resumed, and its identity.

#include <cstdint>
#include <map>
#include <string>

#include "pipeline/base/config/config.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// Throws UserError(usage) unless run.seed is a number.
void check_seed(const Config& config);

/// Throws UserError(usage) if ranks outnumber a batch's rows, or `drop_last` leaves no batch of an epoch of `samples`.
void check_batch(std::uint64_t batch, std::uint64_t samples, std::uint64_t world, bool drop_last);

/// Implements DataLoader::basis(). `samples` are those of an epoch, `batch` the rows of a batch, of all ranks.
std::map<std::string, std::string> stream_basis(const Config& config, bool training, const Dataset& dataset,
                                                std::uint64_t samples, std::uint64_t batch);

}  // namespace flowtrain
