#pragma once
// The mean of several snapshots' weights.

#include <span>
#include <vector>

#include "pipeline/base/snapshot/snapshot_files.h"
#include "stages/model/state.h"

namespace flowtrain {

/// Returns the model's tensors, each the mean of the tensors of its name: stochastic weight averaging (P. Izmailov et
/// al., UAI 2018) for snapshots of one run, a uniform soup (M. Wortsman et al., ICML 2022) for several runs. Sums are
/// taken in double. Whole numbers are the last snapshot's. Throws UserError(snapshot) if the snapshots have other
/// tensors than the first one (names, shapes, types), or floating-point numbers of another type than F32 and F64.
std::vector<StateTensor> averaged_weights(std::span<const OpenSnapshot> snapshots);

}  // namespace flowtrain
