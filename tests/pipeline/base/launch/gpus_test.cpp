#include "pipeline/base/launch/gpus.h"

#include <doctest/doctest.h>

#include "pipeline/base/launch/launchers.h"
#include "sampling/core/error.h"
#include "tests/pipeline/base/launch/environments.h"
#include "tests/pipeline/base/launch/expect_error.h"
#include "tests/support/paths.h"

namespace flowtrain::gpus_test {

using namespace flowtrain::testing;

namespace {

constexpr std::uint64_t gib = 1ull << 30;

// The second is busy; of the idle ones the last has the most room.
std::vector<GpuUse> four_gpus() {
  return {{"GPU-a", 0, 2 * gib, 80 * gib},
          {"GPU-b", 2, 40 * gib, 80 * gib},
          {"GPU-c", 0, 2 * gib, 80 * gib},
          {"GPU-d", 0, 0, 80 * gib}};
}

std::string chosen(const std::string& wish, const Values& environment = {}) {
  return choose_gpus(wish, environment_of(environment), four_gpus).value_or("(inherited)");
}

void refused(const std::string& wish, const std::string& reason, const Values& environment = {}) {
  expect_error(ExitCode::usage, "--gpus " + wish + ": " + reason, [&] { chosen(wish, environment); });
}

}  // namespace

TEST_CASE("--gpus LIST counts among the GPUs that CUDA_VISIBLE_DEVICES leaves") {
  CHECK(chosen("2") == "2");
  CHECK(chosen("2,0") == "2,0");
  CHECK(chosen("GPU-c, 1") == "GPU-c,1");
  CHECK(chosen("1", {{"CUDA_VISIBLE_DEVICES", "3,5"}}) == "5");
  CHECK(chosen("0", {{"CUDA_VISIBLE_DEVICES", "GPU-c"}}) == "GPU-c");
  refused("2", "there is no GPU 2 among those of CUDA_VISIBLE_DEVICES = 3,5", {{"CUDA_VISIBLE_DEVICES", "3,5"}});
  refused("0,0", "0 is given twice");
  refused("0,,1", "'' is not a GPU");
  refused("all", "'all' is not a GPU");
  refused("-1", "'-1' is not a GPU");
}

TEST_CASE("--gpus idle:N takes those without a process, the emptiest first") {
  CHECK(chosen("idle:1") == "GPU-d");
  CHECK(chosen("idle:3") == "GPU-d,GPU-a,GPU-c");
  CHECK(chosen("idle:1", {{"CUDA_VISIBLE_DEVICES", "0,1"}}) == "GPU-a");
  CHECK(chosen("idle:1", {{"CUDA_VISIBLE_DEVICES", "GPU-c"}}) == "GPU-c");
  refused("idle:4", "only 3 are idle; GPU 1: 2 processes, 40 of 80 GiB used");
  refused("idle:1", "only 0 are idle", {{"CUDA_VISIBLE_DEVICES", ""}});
  refused("idle:", "expected idle:N, N at least 1");
  refused("idle:0", "expected idle:N, N at least 1");
}

TEST_CASE("ranks go by the choice of the one that started them") {
  Values rank;
  for (auto& [name, value] : spawned_variables({.rank = 1,
                             .world = 2,
                             .local_rank = 1,
                             .local_world = 2,
                             .launcher = Launcher::spawn,
                             .url = "tcp://127.0.0.1:29500"}))
    rank[name] = value;
  CHECK(chosen("idle:2", rank) == "(inherited)");
  const Values torchrun{{"TORCHELASTIC_RUN_ID", "none"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}};
  CHECK(chosen("0,1", torchrun) == "0,1");
  refused("idle:2", "each of the launcher's processes would choose for itself", torchrun);
}

TEST_CASE("the driver's library is asked for all GPUs") {
  const auto gpus = query_gpus(test::build_path("lib/libfake_nvml.so"));
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].uuid == "GPU-aaaa");
  CHECK(gpus[0].processes == 0);
  CHECK(gpus[1].processes == 3);
  CHECK(gpus[1].used == 4 * gib);
  CHECK(gpus[1].memory == 8 * gib);
  expect_error(ExitCode::usage, "the GPUs cannot be listed: the NVIDIA driver is not on this machine (libnothing.so.1)",
               [] { query_gpus("libnothing.so.1"); });
}

}  // namespace flowtrain::gpus_test
