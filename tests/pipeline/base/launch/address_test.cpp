#include "pipeline/base/launch/url.h"

#include <doctest/doctest.h>

#include "sampling/core/error.h"
#include "tests/pipeline/base/launch/expect_error.h"

namespace flowtrain::address_test {

TEST_CASE("the own address towards a host") {
  CHECK(address_towards("127.0.0.1", 29500) == "127.0.0.1");
  CHECK(address_towards("127.3.2.1", 1) == "127.0.0.1");
  try {
    address_towards("no host has this name", 29500);
    FAIL_CHECK("not refused");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::distributed);
    CHECK(std::string(error.what()).starts_with("tcp://no host has this name:29500: "));
  }
}

}  // namespace flowtrain::address_test
