#pragma once
// Arrays as other programs store them: the types of their elements, and the header of NumPy's .npy files (NumPy
// Enhancement Proposal 1).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sampling/dtype.h"

namespace flowtrain {

/// The types of elements in files, little-endian.
enum class StoredType : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };

/// Returns "bool", "i8", "bf16" …
const char* name_of(StoredType type);
/// Returns the bytes of one element.
std::size_t size_of(StoredType type);
/// Returns the type with this name, in any case ("BF16" of safetensors); nothing if there is none.
std::optional<StoredType> stored_type(std::string_view name);
/// Returns whether the elements are integers; truth values are none.
bool is_integer(StoredType type);

/// Returns the type that such elements have in records: the smallest of the four that holds each value exactly (a truth
/// value is 0 or 1 of u8). Elements of f64 are rounded to f32, and those of u64 become i64.
DType record_type(StoredType type);
/// Returns whether a record holds the elements as they are stored.
bool is_stored_as(StoredType type, DType as);
/// Converts the elements in `from` to record_type(type), and writes them to `into`. Throws std::runtime_error for a u64
/// beyond i64.
void convert_elements(StoredType type, std::span<const std::byte> from, std::span<std::byte> into);

/// The facts in the header of a .npy file.
struct NpyHeader {
  static constexpr std::size_t max_axes = 16;

  StoredType type = StoredType::u8;
  std::array<std::int64_t, max_axes> sizes{};
  std::size_t axes = 0;
  std::uint64_t data_offset = 0, data_bytes = 0;

  std::span<const std::int64_t> shape() const { return std::span(sizes).first(axes); }
};

/// The largest number of bytes that parse_npy() looks at.
inline constexpr std::size_t max_npy_header_bytes = 1 << 16;

/// Parses the header of a .npy file of `file_bytes` bytes; `beginning` has its first max_npy_header_bytes, or all. It
/// allocates nothing. Throws Mistake, which the caller completes by the file's name, for a file that is damaged or no
/// array, objects, texts, big-endian elements and arrays in Fortran's order.
NpyHeader parse_npy(std::span<const std::byte> beginning, std::uint64_t file_bytes);

/// Returns the header of a .npy file (version 1.0) of an array of this shape, in C's order.
std::string npy_header(DType type, std::span<const std::int64_t> shape);

}  // namespace flowtrain
