#pragma once
// The state_dict of a net or module: parameters and buffers in torch's order, and weights from files into them.

#include <string>
#include <vector>

#include "nets/tensors.h"

namespace flowtrain::parity {

struct Entry {
  std::string name;
  at::Tensor tensor;
  bool parameter = false;
};

/// Torch's order: each module's parameters, then its buffers. Both lists are in the order of the modules.
std::vector<Entry> state_dict(const nets::NamedTensors& parameters, const nets::NamedTensors& buffers);

/// Copies `weights` into the entries. Names may carry `module.`; num_batches_tracked may be missing and is then 0.
/// Throws BadCall for any other missing, extra or misshapen entry, and one of another type.
void load(const std::vector<Entry>& entries, const nets::NamedTensors& weights);

}  // namespace flowtrain::parity
