#pragma once
// Element types of batch fields and of stored arrays.

#include <cstddef>
#include <cstdint>

namespace flowtrain {

enum class DType : std::uint8_t { u8, i32, i64, f32 };
/// Returns the bytes of one element.
std::size_t size_of(DType type);
/// Returns "u8", "i32", "i64", "f32".
const char* name_of(DType type);

}  // namespace flowtrain
