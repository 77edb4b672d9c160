#pragma once
// The tensors in a package.

#include "nets/package/archive.h"
#include "nets/tensors.h"

namespace flowtrain::nets {

/// Returns the tensors of weights.safetensors on the CPU: parameters, buffers and constants of the graphs, by the net's
/// names. Throws std::invalid_argument if the file is damaged.
NamedTensors read_weights(const PackageArchive& archive);

}  // namespace flowtrain::nets
