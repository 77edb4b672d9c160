#include "stages/model/state.h"

#include <doctest/doctest.h>

#include <cstring>

namespace flowtrain::state_test {

namespace {

// Elements 0, 1, 2 … in row-major order, laid out by `strides`.
template <class T>
StateTensor laid_out(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::size_t count) {
  StateTensor tensor{"t", "?", shape, true, std::vector<std::byte>(count * sizeof(T)), strides};
  for (std::size_t i = 0; i < count; ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t offset = 0;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) offset += rest % shape[axis] * strides[axis];
    const T value = static_cast<T>(i);
    std::memcpy(tensor.bytes.data() + static_cast<std::size_t>(offset) * sizeof(T), &value, sizeof(T));
  }
  return tensor;
}

template <class T>
void check_order(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::size_t count) {
  LearnerState state;
  state.optim.push_back(laid_out<T>(shape, strides, count));
  state.settle();
  CHECK(state.optim[0].strides.empty());
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, state.optim[0].bytes.data() + i * sizeof(T), sizeof(T));
    CHECK(value == static_cast<T>(i));
  }
}

}  // namespace

TEST_CASE("state that was copied as it lay comes into row-major order") {
  check_order<float>({2, 3, 4, 5}, {60, 1, 15, 3}, 120);  // channels last
  check_order<std::int64_t>({2, 3}, {1, 2}, 6);
  check_order<std::uint16_t>({3, 1, 2}, {1, 7, 3}, 6);  // the stride of an axis of one does not count
  check_order<std::uint8_t>({5}, {1}, 5);
  check_order<double>({}, {}, 1);
  check_order<float>({0, 3}, {3, 1}, 0);
}

}  // namespace flowtrain::state_test
