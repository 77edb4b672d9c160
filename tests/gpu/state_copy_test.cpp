// Copies of a learner's state, while the device is asked for more before it has done what it was asked for.

#include "stages/torch/state_copy.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstring>
#include <thread>
#include <utility>

#include "tests/gpu/test_device.h"

namespace flowtrain::state_copy_test {

using testing::test_device;

namespace {

/// Work for some tens of milliseconds of a GPU.
void keep_busy() {
  const std::int64_t size = test_device().is_cpu() ? 32 : 4096;
  at::Tensor product = at::ones({size, size}, test_device());
  for (int i = 0; i < 25; ++i) product = product.matmul(product).clamp_(0, 1);
}

/// Tensors of several types and layouts.
struct State {
  nets::NamedTensors parameters{
      {"filters", at::zeros({8, 3, 5, 5}, test_device()).contiguous(at::MemoryFormat::ChannelsLast)},
      {"half", at::zeros({5}, at::device(test_device()).dtype(at::kHalf))},
      {"scalar", at::zeros({}, at::device(test_device()).dtype(at::kDouble))}};
  nets::NamedTensors buffers{{"mean", at::zeros({7}, test_device())},
                             {"count", at::zeros({}, at::device(test_device()).dtype(at::kLong))},
                             {"none", at::zeros({0}, test_device())}};
  nets::NamedTensors slots{{"momentum", at::zeros({1000, 300}, test_device())},
                           {"columns", at::zeros({6, 9}, test_device()).slice(1, 1, 7, 2)}};

  static void fill(const nets::NamedTensors& tensors, int value) {
    for (auto& [name, tensor] : tensors) tensor.fill_(value);
  }
  void fill(int value) const {
    for (auto* part : {&parameters, &buffers, &slots}) fill(*part, value);
  }
  /// As a learner does it, to whom a step happens after the copy.
  void copy_and_change(StateCopier& copier, LearnerState& to, int changed) const {
    copier.copy(parameters, buffers, slots, to);
    copier.before_buffers_change();
    fill(buffers, changed);
    keep_busy();
    copier.before_change();
    fill(parameters, changed);
    fill(slots, changed);
  }
};

void check_all(const std::vector<StateTensor>& stored, const nets::NamedTensors& like, std::size_t first, int value) {
  for (auto& [name, tensor] : like) {
    CAPTURE(name);
    const StateTensor& own = stored.at(first++);
    CHECK(own.name == name);
    const at::Tensor want = at::full(tensor.sizes(), value, tensor.scalar_type());
    REQUIRE(own.bytes.size() == want.nbytes());
    CHECK(std::memcmp(own.bytes.data(), want.const_data_ptr(), own.bytes.size()) == 0);
  }
}

void check_state(const LearnerState& copy, const State& state, int value) {
  CAPTURE(value);
  check_all(copy.model, state.parameters, 0, value);
  check_all(copy.model, state.buffers, state.parameters.size(), value);
  check_all(copy.optim, state.slots, 0, value);
}

}  // namespace

TEST_CASE("a copy of the state is of its moment, whatever is computed before and after it") {
  const State state;
  StateCopier copier(test_device());
  LearnerState copy;
  for (int round = 1; round <= 3; ++round) {
    keep_busy();
    state.fill(round);
    state.copy_and_change(copier, copy, 99);
    std::thread([&] { copy.settle(); }).join();  // as the thread that writes snapshots
    check_state(copy, state, round);
  }
}

TEST_CASE("a copy that nobody has read yet outlives the next one") {
  const State state;
  StateCopier copier(test_device());
  LearnerState first, second;
  state.fill(1);
  copier.copy(state.parameters, state.buffers, state.slots, first);
  state.copy_and_change(copier, second, 2);
  LearnerState third;
  state.copy_and_change(copier, third, 3);
  for (auto* copy : {&third, &first, &second}) copy->settle();
  check_state(first, state, 1);
  check_state(second, state, 1);
  check_state(third, state, 2);
}

}  // namespace flowtrain::state_copy_test
