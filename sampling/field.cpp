#include "sampling/sampler.h"

#include "sampling/core/error.h"

namespace flowtrain {

std::size_t size_of(DType type) {
  switch (type) {
    case DType::u8: return 1;
    case DType::i32: return 4;
    case DType::i64: return 8;
    case DType::f32: return 4;
  }
  throw InternalError("size_of: no such element type");
}

const char* name_of(DType type) {
  switch (type) {
    case DType::u8: return "u8";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::f32: return "f32";
  }
  throw InternalError("name_of: no such element type");
}

std::size_t Field::row_bytes() const {
  std::size_t bytes = size_of(dtype);
  for (const auto extent : shape) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

}  // namespace flowtrain
