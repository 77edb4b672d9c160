#pragma once
// The columns of a table whose rows are segments of recordings, as the data set `manifest` finds them (manifest.cpp).

#include <cstddef>
#include <string>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/datasets/tables/table.h"

namespace flowtrain {

/// The part of a recording that a row is.
struct SoundSegment {
  double begin = 0, end = -1;  ///< seconds; end < 0: to the end

  bool is_whole() const { return begin <= 0 && end < 0; }
};

/// The indices of the columns of segments; -1: there is none.
struct SegmentColumns {
  std::ptrdiff_t begin = -1, end = -1;
  bool is_duration = false;  ///< `end` counts from `begin`
};

/// Finds the columns by the keys `begin` and `end` of the data set `manifest`. Throws UserError(data) at the key that
/// names a column which the table lacks.
SegmentColumns find_segment_columns(const Table& table, const Settings& settings);

/// Returns whether a column of this name may be one of those that find_segment_columns() finds.
bool may_bound_segments(const std::string& name, const Settings& settings);

/// Returns the segment of each row. Throws UserError(data), with its place, for a cell that is no time.
std::vector<SoundSegment> read_segments(const Table& table, const SegmentColumns& columns);

}  // namespace flowtrain
