#pragma once
// Tensors of torch in safetensors files.

#include <map>
#include <string>

#include "nets/tensors.h"

namespace flowtrain::parity {

/// All tensors of a file, copied. Throws UserError(snapshot) for a file that is none.
nets::NamedTensors read_tensors(const std::string& path, std::map<std::string, std::string>* metadata = nullptr);

/// Writes them in their order, from any device and layout.
void write_tensors(const std::string& path, const nets::NamedTensors& tensors);

}  // namespace flowtrain::parity
