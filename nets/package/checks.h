#pragma once
// Checks whether a run can use a package: with this LibTorch, on this machine, with these batches.

#include <vector>

#include "nets/package/archive.h"
#include "nets/package/compiled_net.h"
#include "nets/package/description.h"
#include "nets/tensors.h"

namespace flowtrain::nets {

/// Throws Mistake, whose hint is the package's command, if this LibTorch cannot run its code.
void check_version(const PackageDescription& description, const PackageArchive& archive);

/// Throws std::invalid_argument if a batch of these fields lacks an input, or has it in another type or shape.
void check_inputs(const PackageDescription& description, const std::vector<BatchField>& batch,
                  const PackageArchive& archive);

/// Throws std::invalid_argument if a batch that passes check_inputs() has a value that the graphs do not take. A batch
/// on a GPU is not read, because that would wait; the GPU's code reports such a value itself.
void check_values(const PackageDescription& description, const NamedTensors& batch, const PackageArchive& archive);

/// Makes all checks of CompiledNet::check_use().
void check_use(const PackageDescription& description, const NetUse& use, const PackageArchive& archive);

/// Implements CompiledNet::rows().
std::int64_t rows_of(const PackageDescription& description);

}  // namespace flowtrain::nets
