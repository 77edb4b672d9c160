// dist.backend as a user sets it, on machines with and without a GPU.

#include <doctest/doctest.h>

#include "tests/program/ranks.h"

namespace flowtrain::backend_test {

TEST_CASE("nccl for processes on the CPU is refused, once, with the way out") {
  const TempRun place;
  for (const Words& asked : {Words{"--dist-backend", "nccl"}, Words{"--set", "dist.backend=nccl"}}) {
    const auto refused = train(place, 2, "none", with(asked, {"--device", "cpu"}));
    CHECK_EXIT(refused, 2);
    CHECK_SAYS(refused, "dist.backend: nccl connects GPUs, but this run computes on the CPU");
    CHECK_SAYS(refused, "leave it at \"auto\"");
    CHECK(refused.err.find("nccl connects") == refused.err.rfind("nccl connects"));
    CHECK_FALSE(fs::exists(place.path("none")));
  }
}

TEST_CASE("one GPU by its number is not for several processes") {
  const TempRun place;
  const auto refused = train(place, 2, "none", {"--device", "cuda:0", "--dist-backend", "gloo"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "run.device: cuda:0 is one GPU, for 2 processes");
  CHECK_SAYS(refused, "\"cuda\" gives each of them its own");
}

TEST_CASE("gloo by name trains as by default, and a backend that does not exist is refused") {
  const TempRun place;
  REQUIRE_EXIT(train(place, 2, "named", {"--dist-backend", "gloo", "--device", "cpu"}), 0);
  REQUIRE_EXIT(train(place, 2, "default", {"--device", "cpu"}), 0);
  CHECK(end_of(place.path("named")) == end_of(place.path("default")));
  const auto refused = train(place, 2, "none", {"--dist-backend", "smoke-signals"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "smoke-signals");
}

}  // namespace flowtrain::backend_test
