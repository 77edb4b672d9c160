#pragma once
// Copies of arrays into rows whose free axes are longer or shorter.

#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/sampler.h"

namespace flowtrain {

/// Throws SampleError if a row whose length was measured (PlannedRow) is longer than the extent of its batch: that
/// measurement is out of date, and a part that is cut must not be trained with the whole of another one.
void check_room(std::int64_t length, std::int64_t room);

/// Writes a row of `field` whose free axes have `extents`: the elements of `from`, an array of the field's dtype and of
/// `shape`, that lie within, and the field's fill elsewhere. The axes of `shape` that are not free are the field's.
/// Throws SampleError as check_room() does, but not for what is longer than the field's bound.
void copy_padded(const Field& field, const std::byte* from, std::span<const std::int64_t> shape, std::byte* to,
                 std::span<const std::int64_t> extents);

/// Fills elements of `dtype` with `value`.
void fill_elements(DType dtype, double value, std::byte* to, std::size_t count);

}  // namespace flowtrain
