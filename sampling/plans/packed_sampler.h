#pragma once
// Rows that hold several records, one after the other, and say which element belongs to which.

#include <memory>

#include "sampling/sampler.h"

namespace flowtrain {

/// The fields that packed rows have beside those of the records: i32 (length), the place of an element within its
/// record, and the number of the record within its row, from 1; 0 where no record is.
inline constexpr const char* position_field = "position";
inline constexpr const char* segment_field = "segment";

/// Returns a sampler whose rows are packed: each call of sample() writes one record into a part of a row.
/// Row::extents() is then the one extent of that part, the record is cut to it, and the rest of the part is filled. The
/// fields of `sampler` must have one free axis each, all with one bound, which is the length of a row; fields that
/// state lengths are left out. Throws UserError(usage) for others.
std::unique_ptr<Sampler> with_packed_rows(std::unique_ptr<Sampler> sampler);

}  // namespace flowtrain
