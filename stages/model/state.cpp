#include "stages/model/state.h"

#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "sampling/core/error.h"

namespace flowtrain {

namespace {

bool is_row_major(const StateTensor& tensor) {
  std::int64_t expected = 1;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0; expected *= tensor.shape[axis])
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
  return true;
}

// Copies elements of `size` bytes, the last axis innermost; `index` counts through the other axes.
template <std::size_t size>
void gather(const StateTensor& from, std::byte* to) {
  const std::size_t axes = from.shape.size();
  const std::int64_t inner = from.shape[axes - 1], inner_stride = from.strides[axes - 1];
  std::vector<std::int64_t> index(axes, 0);
  std::int64_t offset = 0;
  const std::byte* const end = to + from.bytes.size();
  while (to != end) {
    const std::byte* at = from.bytes.data() + static_cast<std::size_t>(offset) * size;
    for (std::int64_t i = 0; i < inner; ++i, to += size, at += static_cast<std::size_t>(inner_stride) * size)
      std::memcpy(to, at, size);
    for (std::size_t axis = axes - 1; axis-- > 0;) {
      offset += from.strides[axis];
      if (++index[axis] < from.shape[axis]) break;
      offset -= index[axis] * from.strides[axis];
      index[axis] = 0;
    }
  }
}

void make_row_major(StateTensor& tensor, std::vector<std::byte>& scratch) {
  if (!tensor.strides.empty() && !tensor.bytes.empty() && !is_row_major(tensor)) {
    const auto count = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::size_t{1}, std::multiplies<>());
    scratch.resize(tensor.bytes.size());
    switch (tensor.bytes.size() / count) {
      case 1: gather<1>(tensor, scratch.data()); break;
      case 2: gather<2>(tensor, scratch.data()); break;
      case 4: gather<4>(tensor, scratch.data()); break;
      case 8: gather<8>(tensor, scratch.data()); break;
      default: throw InternalError("a tensor of elements of an unknown size: " + tensor.name);
    }
    std::memcpy(tensor.bytes.data(), scratch.data(), scratch.size());
  }
  tensor.strides.clear();
}

}  // namespace

void LearnerState::settle() {
  if (arrive) std::exchange(arrive, nullptr)(*this);
  std::vector<std::byte> scratch;
  for (auto* part : {&model, &optim})
    for (auto& tensor : *part) flowtrain::make_row_major(tensor, scratch);
}

}  // namespace flowtrain
