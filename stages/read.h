#pragma once
// The read stage: gets the bytes of rows. It may block, so it runs on its own threads, never on TBB's.

#include <span>

#include "stages/slab.h"

namespace flowtrain {

/// Reads every pending row. A record that cannot be read leaves its row `failed` with the reason; other errors throw.
void read_rows(const Dataset& dataset, std::span<RowWork> rows);

}  // namespace flowtrain
