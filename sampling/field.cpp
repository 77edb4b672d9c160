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

}  // namespace flowtrain
