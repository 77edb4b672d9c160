#include "stages/system/file_limit.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace flowtrain::file_limit_test {

TEST_CASE("the limit of open files is raised to what the system allows") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{std::min<rlim_t>(200, before.rlim_max), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  flowtrain::raise_file_limit();
  rlimit after{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &after) == 0);
  CHECK(after.rlim_cur == before.rlim_max);
  CHECK(after.rlim_max == before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace flowtrain::file_limit_test
