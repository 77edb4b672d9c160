// CUDA graphs: captured and repeated, and what a capture that fails leaves behind.

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

#include "stages/device/device_graph.h"
#include "tests/gpu/test_device.h"

namespace flowtrain::graph_test {

using testing::test_device;

namespace {

std::unique_ptr<WorkGraph> make_graph() { return cuda_work_graphs(test_device().index())(); }

std::int64_t allocated() {
  constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return c10::getDeviceAllocator(at::kCUDA)->getDeviceStats(test_device().index()).allocated_bytes[all].current;
}

/// That draws, captures and gives back memory as if nothing had happened.
void check_device_is_well() {
  at::manual_seed(5);
  const at::Tensor drawn = at::rand({1000}, test_device());
  at::manual_seed(5);
  CHECK(at::equal(drawn, at::rand({1000}, test_device())));
  c10::getDeviceAllocator(at::kCUDA)->emptyCache();
  const at::Tensor x = at::ones({4}, test_device());
  const auto graph = make_graph();
  graph->capture([&] { x.mul_(2); });
  graph->replay();
  CHECK(x.cpu().equal(at::full({4}, 2.f)));
}

}  // namespace

TEST_CASE("captured work is not carried out, and is repeated in the same memory, behind what was asked for before") {
  SKIP_WITHOUT_GPU();
  const at::Tensor x = at::ones({1000}, test_device());
  at::Tensor y;
  const auto graph = make_graph();
  graph->capture([&] { y = x * 3 + 1; });
  for (float value : {2.f, 5.f}) {
    x.fill_(value);
    graph->replay();
    CHECK(y.cpu().equal(at::full({1000}, value * 3 + 1)));
  }
}

TEST_CASE("what captured work draws follows the seed, as it does without a graph") {
  SKIP_WITHOUT_GPU();
  at::Tensor drawn;
  const auto graph = make_graph();
  graph->capture([&] { drawn = at::dropout(at::ones({1000}, test_device()), 0.5, true); });
  for (const std::uint64_t seed : {1u, 2u, 1u}) {
    CAPTURE(seed);
    at::manual_seed(seed);
    graph->replay();
    at::manual_seed(seed);
    CHECK(at::equal(drawn, at::dropout(at::ones({1000}, test_device()), 0.5, true)));
  }
}

TEST_CASE("a capture that waits for the device fails, and leaves nothing behind") {
  SKIP_WITHOUT_GPU();
  check_device_is_well();
  const std::int64_t before = allocated();
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    const auto graph = make_graph();
    CHECK_THROWS(graph->capture([] {
      const at::Tensor x = at::dropout(at::ones({1 << 20}, test_device()), 0.5, true);
      if (x.sum().item<float>() > 0) at::rand({10}, test_device());
    }));
  }
  CHECK(allocated() == before);
  check_device_is_well();
}

TEST_CASE("a capture whose work throws fails with that, and leaves nothing behind") {
  SKIP_WITHOUT_GPU();
  const auto work = [] {
    at::dropout(at::ones({100}, test_device()), 0.5, true);
    throw std::runtime_error("the work's own");
  };
  CHECK_THROWS_WITH(make_graph()->capture(work), "the work's own");
  check_device_is_well();
}

TEST_CASE("a capture of nothing fails") {
  SKIP_WITHOUT_GPU();
  CHECK_THROWS_WITH(make_graph()->capture([] {}), doctest::Contains("nothing was captured"));
  check_device_is_well();
}

}  // namespace flowtrain::graph_test
