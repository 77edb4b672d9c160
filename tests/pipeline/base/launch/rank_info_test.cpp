// The flags decide the ranks if there is no launcher.

#include "pipeline/base/launch/rank_info.h"

#include <doctest/doctest.h>

#include "sampling/core/error.h"
#include "tests/pipeline/base/launch/environments.h"
#include "tests/pipeline/base/launch/expect_error.h"

namespace flowtrain::rank_info_test {

using namespace flowtrain::testing;

namespace {

const Values master = {{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};

SpawnPlan plan_of(const LaunchOptions& options, int gpus = 0, const Values& values = {}) {
  return std::get<SpawnPlan>(find_place(options, environment_of(values), gpus));
}

void refuse_flags(const LaunchOptions& options, const std::string& message, const Values& values = {}) {
  expect_error(ExitCode::usage, message, [&] { place_in(values, options); });
}

}  // namespace

TEST_CASE("without --distributed and a launcher a run is alone") {
  CHECK(std::holds_alternative<SingleProcess>(place_in({})));
  CHECK(std::holds_alternative<SingleProcess>(place_in({}, {.launcher = "none"})));
  CHECK(std::holds_alternative<SingleProcess>(
      place_in({}, {.max_restarts = 3})));  // it has a key in the configuration, too
}

TEST_CASE("without --rank and --dist-url all nodes are this machine") {
  auto plan = plan_of({.distributed = true, .world_size = 1});
  CHECK(plan.processes == 1);
  CHECK(plan.world == 1);
  CHECK(plan.url.empty());

  plan = plan_of({.distributed = true, .world_size = 2, .nproc = 3, .max_restarts = 4}, 8);
  CHECK(plan.first_rank == 0);
  CHECK(plan.processes == 6);
  CHECK(plan.world == 6);
  CHECK(plan.node == 0);
  CHECK(plan.url.empty());
  CHECK(plan.max_restarts == 4);

  CHECK(plan_of({.distributed = true, .world_size = 1, .rank = 0}).processes == 1);
  CHECK(plan_of({.distributed = true, .world_size = 1, .launcher = "spawn"}).processes == 1);
}

TEST_CASE("--nproc defaults to the GPUs of a node") {
  CHECK(plan_of({.distributed = true, .world_size = 1}, 8).processes == 8);
  CHECK(plan_of({.distributed = true, .world_size = 2}, 8).processes == 8);  // two nodes share them
  CHECK(plan_of({.distributed = true, .world_size = 2}, 1).processes == 2);
  const auto plan = plan_of({.distributed = true, .world_size = 2, .rank = 1, .dist_url = "tcp://node1:29500"}, 8);
  CHECK(plan.processes == 8);
  CHECK(plan.world == 16);
}

TEST_CASE("--dist-url makes this machine one of the nodes") {
  const LaunchOptions options{.distributed = true, .world_size = 3, .nproc = 2, .dist_url = "tcp://node1:29500"};
  auto plan = plan_of(options);
  CHECK(plan.first_rank == 0);
  CHECK(plan.processes == 2);
  CHECK(plan.world == 6);
  CHECK(plan.node == 0);
  CHECK(plan.url == "tcp://node1:29500");

  auto last = options;
  last.rank = 2;
  last.dist_url = "file:///shared/meet";
  plan = plan_of(last);
  CHECK(plan.first_rank == 4);
  CHECK(plan.processes == 2);
  CHECK(plan.world == 6);
  CHECK(plan.node == 2);
  CHECK(plan.url == "file:///shared/meet");

  last.dist_url = "env://";
  CHECK(plan_of(last, 0, master).url == "tcp://node1:29500");
}

TEST_CASE("flags that make no sense are refused") {
  refuse_flags({.distributed = true}, "--world-size is -1: expected a number from 1 to 1000000");
  refuse_flags({.distributed = true, .world_size = 0}, "--world-size is 0: expected a number from 1 to 1000000");
  refuse_flags({.distributed = true, .world_size = 1, .nproc = -1}, "--nproc is -1: expected a number from 0 to 1024");
  refuse_flags({.distributed = true, .world_size = 1, .nproc = 2000},
               "--nproc is 2000: expected a number from 0 to 1024");
  refuse_flags({.distributed = true, .world_size = 1, .max_restarts = -1},
               "dist.max_restarts is -1: expected a number from 0 to 1000000");
  refuse_flags({.distributed = true, .world_size = 2, .rank = 2, .dist_url = "tcp://node1:80"},
               "--rank is 2: expected a number from 0 to 1");
  refuse_flags({.distributed = true, .world_size = 2, .rank = -1, .dist_url = "tcp://node1:80"},
               "--rank is -1: expected a number from 0 to 1");
  refuse_flags({.distributed = true, .world_size = 2, .rank = 0},
               "--rank without --dist-url: the nodes do not know where to meet");
  refuse_flags({.distributed = true, .world_size = 2, .dist_url = "node1"},
               "--dist-url node1: expected tcp:// or file:// or env://");
  refuse_flags({.distributed = true, .world_size = 1000, .nproc = 8},
               "--world-size 1000 with 8 processes each would start them all on this machine");
  refuse_flags({.distributed = true, .world_size = 1'000'000, .nproc = 1024},
               "--world-size 1000000 with 1024 processes each would start them all on this machine");
}

TEST_CASE("flags of a distributed run need --distributed") {
  refuse_flags({.world_size = 1}, "--world-size has no meaning without --distributed");
  refuse_flags({.rank = 0}, "--rank has no meaning without --distributed");
  refuse_flags({.nproc = 1}, "--nproc has no meaning without --distributed");
  refuse_flags({.dist_url = "env://"}, "--dist-url has no meaning without --distributed");
  refuse_flags({.launcher = "spawn"}, "--launcher spawn starts ranks only with --distributed");
}

TEST_CASE("env:// needs the two variables it stands for") {
  const LaunchOptions options{.distributed = true, .world_size = 2, .dist_url = "env://"};
  const auto refuse = [&](const Values& values, const std::string& message) {
    expect_error(ExitCode::distributed, message, [&] { place_in(values, options); });
  };
  refuse({}, "the meeting point of the ranks needs the environment variable MASTER_ADDR, which is not set");
  refuse(with(master, {{"MASTER_PORT", ""}}),
         "the meeting point of the ranks needs the environment variable MASTER_PORT, which is not set");
  refuse({{"MASTER_ADDR", ""}, {"MASTER_PORT", "80"}},
         "the meeting point of the ranks needs the environment variable MASTER_ADDR, which is not set");
  for (const char* port : {"0", "65536", "x", "80x", "-1"}) {
    refuse(with(master, {{"MASTER_PORT", port}}), "the environment variable MASTER_PORT is \"" + std::string(port) +
                                                      "\": expected a whole number from 1 to 65535");
  }
}

}  // namespace flowtrain::rank_info_test
