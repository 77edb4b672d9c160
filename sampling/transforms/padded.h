#pragma once
// Copies of arrays into rows whose free axes are longer or shorter.

#include <cstddef>
#include <cstdint>
#include <span>

#include "sampling/sampler.h"

namespace flowtrain {

/// Writes a row of `field` whose free axes have `extents`: the elements of `from`, an array of the field's dtype and of
/// `shape`, that lie within, and the field's fill elsewhere. The axes of `shape` that are not free are the field's.
void copy_padded(const Field& field, const std::byte* from, std::span<const std::int64_t> shape, std::byte* to,
                 std::span<const std::int64_t> extents);

/// Fills elements of `dtype` with `value`.
void fill_elements(DType dtype, double value, std::byte* to, std::size_t count);

}  // namespace flowtrain
