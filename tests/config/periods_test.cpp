#include "pipeline/config/periods.h"

#include <doctest/doctest.h>

#include <limits>

#include "sampling/core/settings.h"
#include "tests/config/support.h"

using namespace flowtrain;
using flowtrain::testing::failure_of;

namespace {
std::string text(const char* value) { return value; }
}  // namespace

TEST_CASE("periods count iterations, epochs or parts of an epoch") {
  CHECK(parse_period(std::int64_t{500}).to_iterations(47) == 500);
  CHECK(parse_period(text("2 epochs")).to_iterations(47) == 94);
  CHECK(parse_period(text("1 epoch")).to_iterations(47) == 47);
  CHECK(parse_period(text(" 3  epochs ")).to_iterations(10) == 30);
  CHECK(parse_period(text("10 per epoch")).to_iterations(1000) == 100);
}

TEST_CASE("a part of an epoch is rounded to whole iterations, at least one") {
  CHECK(parse_period(text("10 per epoch")).to_iterations(47) == 5);
  CHECK(parse_period(text("2 per epoch")).to_iterations(5) == 3);
  CHECK(parse_period(text("10 per epoch")).to_iterations(3) == 1);
  CHECK(parse_period(text("18446744073709551615 per epoch")).to_iterations(7) == 1);
}

TEST_CASE("zero of anything is never") {
  for (Value value : {Value(std::int64_t{0}), Value(text("0 epochs")), Value(text("0 per epoch"))}) {
    CHECK(parse_period(value).off());
    CHECK(parse_period(value).to_iterations(100) == 0);
  }
}

TEST_CASE("a period too long for 64 bits is the longest there is") {
  CHECK(parse_period(text("9000000000000000000 epochs")).to_iterations(100) ==
        std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("nonsense is no period") {
  for (Value value :
       {Value(text("")), Value(text("often")), Value(text("2")), Value(text("2 weeks")), Value(text("-1 epochs")),
        Value(text("1.5 epochs")), Value(text("2 epochs!")), Value(text("99999999999999999999 epochs")),
        Value(text("per epoch")), Value(std::int64_t{-1}), Value(1.5), Value(true)}) {
    auto failure = failure_of([&] { parse_period(value); });
    REQUIRE(failure);
    CHECK(failure->code == ExitCode::usage);
    CHECK(failure->message ==
          "expected a number of iterations, \"2 epochs\" or \"10 per epoch\", got " + to_toml(value));
  }
}

TEST_CASE("shares are a count, or a part of the whole of at least one") {
  CHECK(parse_share(std::int64_t{20}).of(5) == 20);
  CHECK(parse_share(std::int64_t{0}).of(1000) == 0);
  CHECK(parse_share(text("0.1%")).of(60000) == 60);
  CHECK(parse_share(text("0.1%")).of(10) == 1);
  CHECK(parse_share(text("0%")).of(1000) == 0);
  CHECK(parse_share(text(" 50 % ")).of(7) == 3);
  CHECK(parse_share(text("100%")).of(7) == 7);
}

TEST_CASE("nonsense is no share") {
  for (Value value : {Value(text("")), Value(text("1")), Value(text("%")), Value(text("101%")), Value(text("-1%")),
                      Value(text("nan%")), Value(text("1% of it")), Value(std::int64_t{-3}), Value(0.5)}) {
    auto failure = failure_of([&] { parse_share(value); });
    REQUIRE(failure);
    CHECK(failure->message == "expected a number or a percentage like \"0.1%\", got " + to_toml(value));
  }
}

TEST_CASE("a key that holds nonsense is named with its place") {
  Settings settings("val", {{"every", Kind::integer_or_text, std::int64_t{0}, ""}});
  settings.set("every", text("often"), {"a.toml", 3, 1});
  auto failure = failure_of([&] { period(settings, "every"); });
  REQUIRE(failure);
  CHECK(failure->message.starts_with("a.toml:3:1: val.every: expected a number of iterations"));
}

TEST_CASE("a word in the place of a number is no number") {
  Settings settings("loader", {{"workers", Kind::integer_or_text, text("auto"), "", 1, 64, {"auto"}}});
  CHECK_FALSE(number(settings, "workers"));
  settings.set("workers", std::int64_t{3}, {"--workers"});
  CHECK(number(settings, "workers") == 3);
}
