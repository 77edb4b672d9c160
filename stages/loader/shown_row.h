#pragma once
// Shows the rows of batches to people.

#include <vector>

#include "sampling/shown.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// Shows the fields of one record of a batch, without padding (sampling/shown.h): of a packed row its part of it, and
/// the fields of its group alone.
std::vector<ShownField> show_row(const Slab& slab, const RowWork& record);

}  // namespace flowtrain
