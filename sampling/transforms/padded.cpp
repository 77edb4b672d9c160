#include "sampling/transforms/padded.h"

#include <algorithm>
#include <cstring>

#include "sampling/core/cache_folder.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/planned_row.h"

namespace flowtrain {
namespace {

template <class T>
void fill_with(double value, std::byte* to, std::size_t count) {
  std::fill_n(reinterpret_cast<T*>(to), count, static_cast<T>(value));
}

/// Copies the axes from `axis` on. `inner` is the bytes of an element of the last free axis.
struct PaddedCopy {
  const Field& field;
  std::span<const std::int64_t> shape, extents;
  std::size_t inner;

  std::size_t bytes_below(std::size_t axis, std::span<const std::int64_t> lengths) const {
    std::size_t bytes = inner;
    for (std::size_t each = axis + 1; each < field.free_axes; ++each) bytes *= static_cast<std::size_t>(lengths[each]);
    return bytes;
  }

  void operator()(std::size_t axis, const std::byte* from, std::byte* to) const {
    const auto kept = static_cast<std::size_t>(std::min(shape[axis], extents[axis]));
    const std::size_t step_from = bytes_below(axis, shape), step_to = bytes_below(axis, extents);
    if (axis + 1 == field.free_axes) {
      if (kept > 0) std::memcpy(to, from, kept * inner);
    } else {
      for (std::size_t i = 0; i < kept; ++i) (*this)(axis + 1, from + i * step_from, to + i * step_to);
    }
    const std::size_t left = (static_cast<std::size_t>(extents[axis]) - kept) * step_to;
    fill_elements(field.dtype, field.fill, to + kept * step_to, left / size_of(field.dtype));
  }
};

}  // namespace

void fill_elements(DType dtype, double value, std::byte* to, std::size_t count) {
  switch (dtype) {
    case DType::u8: return fill_with<std::uint8_t>(value, to, count);
    case DType::i32: return fill_with<std::int32_t>(value, to, count);
    case DType::i64: return fill_with<std::int64_t>(value, to, count);
    case DType::f32: return fill_with<float>(value, to, count);
  }
}

void check_room(std::int64_t length, std::int64_t room) {
  if (length > room && PlannedRow::is_measured())
    throw SampleError(concat("it is ", length, " long, more than the ", room, " of its batch: it has become longer ",
                             "since its length was measured; remove the lengths that are kept in ",
                             cache_folder("").string()));
}

void copy_padded(const Field& field, const std::byte* from, std::span<const std::int64_t> shape, std::byte* to,
                 std::span<const std::int64_t> extents) {
  std::size_t inner = size_of(field.dtype);
  for (std::size_t axis = field.free_axes; axis < field.shape.size(); ++axis)
    inner *= static_cast<std::size_t>(field.shape[axis]);
  if (field.free_axes == 0) {
    if (inner > 0) std::memcpy(to, from, inner);
    return;
  }
  for (std::size_t axis = 0; axis < field.free_axes; ++axis)
    check_room(std::min(shape[axis], field.shape[axis]), extents[axis]);
  PaddedCopy{field, shape, extents, inner}(0, from, to);
}

}  // namespace flowtrain
