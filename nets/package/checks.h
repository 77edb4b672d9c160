#pragma once
// Whether a package can be used in a run: by this LibTorch, on this machine, with these batches.

#include <vector>

#include "nets/package/archive.h"
#include "nets/package/compiled_net.h"
#include "nets/package/description.h"
#include "nets/tensors.h"

namespace flowtrain::nets {

/// Throws Mistake, whose hint is the package's command, where this LibTorch cannot run its code.
void check_version(const PackageDescription& description, const PackageArchive& archive);

/// Throws std::invalid_argument where a batch of these fields lacks one of the inputs, or has it in another type or
/// shape.
void check_inputs(const PackageDescription& description, const std::vector<BatchField>& batch,
                  const PackageArchive& archive);

/// Throws std::invalid_argument where a batch that check_inputs() lets pass has a value that the graphs do not take. A
/// batch on a GPU is not looked at: its code reports such a value itself, and a look would wait for it.
void check_values(const PackageDescription& description, const NamedTensors& batch, const PackageArchive& archive);

/// All of CompiledNet::check_use().
void check_use(const PackageDescription& description, const NetUse& use, const PackageArchive& archive);

/// CompiledNet::rows().
std::int64_t rows_of(const PackageDescription& description);

}  // namespace flowtrain::nets
