#include "pipeline/base/telemetry/format.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace flowtrain::format_test {

TEST_CASE("durations") {
  CHECK(format_duration(0) == "0s");
  CHECK(format_duration(12.4) == "12s");
  CHECK(format_duration(59.4) == "59s");
  CHECK(format_duration(59.6) == "1m00s");
  CHECK(format_duration(75) == "1m15s");
  CHECK(format_duration(3599.4) == "59m59s");
  CHECK(format_duration(3600) == "1h00m");
  CHECK(format_duration(2 * 3600 + 3 * 60 + 59) == "2h03m");
  CHECK(format_duration(86400) == "1d00h");
  CHECK(format_duration(3 * 86400 + 4 * 3600) == "3d04h");
  CHECK(format_duration(-1) == "?");
  CHECK(format_duration(NAN) == "?");
  CHECK(format_duration(INFINITY) == "?");
}

TEST_CASE("counts") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(123456) == "123,456");
  CHECK(format_count(1234567) == "1,234,567");
  CHECK(format_count(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("a metric that is not a number has no sign") {
  CHECK(format_loss(std::nan("")) == "nan");
  CHECK(format_loss(-std::nan("")) == "nan");
}

TEST_CASE("losses") {
  CHECK(format_loss(0) == "0.0000");
  CHECK(format_loss(0.43) == "0.4300");
  CHECK(format_loss(-12.34567) == "-12.3457");
  CHECK(format_loss(0.001) == "0.0010");
  CHECK(format_loss(0.00012345) == "1.234e-04");
  CHECK(format_loss(98765.4) == "9.877e+04");
  CHECK(format_loss(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(format_loss(INFINITY) == "inf");
}

}  // namespace flowtrain::format_test
