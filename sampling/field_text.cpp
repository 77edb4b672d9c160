#include "sampling/field_text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sampling/core/error.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

template <class Number>
std::string read_as(const std::byte* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return concat(number);
}

}  // namespace

bool is_image_name(std::string_view name) { return name == "image" || name.ends_with(".image"); }

std::string describe_form(const Field& field) {
  std::size_t axis = 0;
  const auto extent = [&](std::int64_t size) { return concat(axis++ < field.free_axes ? "≤" : "", size); };
  return concat(field.name, " ", name_of(field.dtype), field.shape.empty() ? "" : " ", join(field.shape, "x", extent));
}

std::string describe_field(const Field& field) {
  std::string text = describe_form(field);
  for (auto& [word, values] : {std::pair{" mean ", &field.mean}, {" stddev ", &field.stddev}})
    if (!values->empty()) text += word + to_toml(Value(*values));
  return text;
}

std::string describe_fields(const std::vector<Field>& fields) { return join(fields, ", ", describe_field); }

std::size_t first_difference(const Field& field, const std::byte* a, const std::byte* b) {
  const std::size_t bytes = field.row_bytes();
  if (std::memcmp(a, b, bytes) == 0) return SIZE_MAX;
  return static_cast<std::size_t>(std::mismatch(a, a + bytes, b).first - a) / size_of(field.dtype);
}

std::string element_place(const Field& field, std::size_t element) {
  std::vector<std::size_t> place(field.shape.size());
  for (std::size_t axis = place.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(field.shape[axis]);
    place[axis] = element % extent;
    element /= extent;
  }
  return place.empty() ? "" : concat("[", join(place), "]");
}

std::string element_value(const Field& field, const std::byte* row, std::size_t element) {
  const std::byte* at = row + element * size_of(field.dtype);
  switch (field.dtype) {
    case DType::u8: return std::to_string(std::to_integer<int>(*at));
    case DType::i32: return read_as<std::int32_t>(at);
    case DType::i64: return read_as<std::int64_t>(at);
    case DType::f32: return read_as<float>(at);
  }
  throw InternalError("a field has no type");
}

}  // namespace flowtrain
