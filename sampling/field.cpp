#include <algorithm>
#include <array>

#include "sampling/sampler.h"

namespace flowtrain {
namespace {

struct TypeTraits {
  const char* name;
  std::size_t bytes;
};
constexpr std::array<TypeTraits, 4> dtypes{{{"u8", 1}, {"i32", 4}, {"i64", 8}, {"f32", 4}}};

}  // namespace

std::size_t size_of(DType type) { return dtypes.at(static_cast<std::size_t>(type)).bytes; }
const char* name_of(DType type) { return dtypes.at(static_cast<std::size_t>(type)).name; }

std::size_t Field::row_bytes() const { return row_bytes(std::span(shape).first(free_axes)); }

std::size_t Field::row_bytes(std::span<const std::int64_t> extents) const {
  std::size_t bytes = size_of(dtype);
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    bytes *= static_cast<std::size_t>(axis < free_axes ? extents[axis] : shape[axis]);
  return bytes;
}

std::size_t free_axes_of(std::span<const Field> fields) {
  std::size_t count = 0;
  for (auto& field : fields) count += field.free_axes;
  return count;
}

std::vector<std::int64_t> bounds_of(std::span<const Field> fields) {
  std::vector<std::int64_t> bounds;
  for (auto& field : fields) {
    const auto free = std::span(field.shape).first(field.free_axes);
    bounds.insert(bounds.end(), free.begin(), free.end());
  }
  return bounds;
}

std::span<const std::int64_t> extents_of(std::span<const Field> fields, std::size_t field,
                                         std::span<const std::int64_t> all) {
  if (all.empty()) return std::span(fields[field].shape).first(fields[field].free_axes);
  return all.subspan(free_axes_of(fields.first(field)), fields[field].free_axes);
}

Field stored_shape(Field field, std::span<const std::int64_t> extents) {
  std::ranges::copy(extents, field.shape.begin());
  field.free_axes = 0;
  return field;
}

}  // namespace flowtrain
