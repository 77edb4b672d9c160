// Groups of processes over Gloo; the processes are threads of the test.

#include "stages/torch/parallel/torch_group.h"

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace flowtrain::torch_group_test {

namespace {

c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> options() {
  auto made = c10d::ProcessGroupGloo::Options::create(std::chrono::minutes(1));
  made->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1", true));
  return made;
}

/// Calls `body` as each of `world` ranks.
void as_ranks(int world, const std::function<void(Group&)>& body) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(world));
  for (int rank = 0; rank < world; ++rank)
    threads.emplace_back([&, rank] {
      TorchGroup group(make_gloo_group(store, rank, world, options), std::make_shared<CollectiveLog>(), options);
      body(group);
    });
}

double sum_in(Group& group, double mine) {
  std::array<double, 1> values{mine};
  group.sum("a test", values);
  return values[0];
}

}  // namespace

TEST_CASE("collectives of a group beside another do not get between that one's, in whatever order they come") {
  // c10d's own record is not made for groups of one process that begin at the same time.
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);
  for (const int world : {1, 2, 3}) {
    CAPTURE(world);
    const int ranks = world * (world - 1) / 2;
    as_ranks(world, [&](Group& group) {
      Group &one = group.beside(), &other = group.beside(), &further = one.beside();
      CHECK(one.rank() == group.rank());
      CHECK(one.size() == world);
      const auto all_of = [&](Group& own) {
        for (int i = 0; i < 20; ++i) CHECK(sum_in(own, group.rank() + i) == ranks + world * i);
        CHECK(own.broadcast("a test", std::to_string(own.rank())) == "0");
        CHECK(own.gather("a test", "x").size() == static_cast<std::size_t>(world));
      };
      std::jthread first([&] { all_of(one); }), second([&] { all_of(other); });
      all_of(group);
      all_of(further);
    });
  }
}

}  // namespace flowtrain::torch_group_test
