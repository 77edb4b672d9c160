#include "pipeline/base/values/periods.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "sampling/core/settings.h"
#include "tests/pipeline/base/config/support.h"

namespace flowtrain::periods_test {

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

namespace {

/// The iterations up to `last` with which one of `period` ends.
std::vector<std::uint64_t> ends_of(const Every& period, std::uint64_t last) {
  std::vector<std::uint64_t> ends;
  for (std::uint64_t iteration = 1; iteration <= last; ++iteration)
    if (period.ends(iteration)) ends.push_back(iteration);
  return ends;
}

}  // namespace

TEST_CASE("epochs end where the data has been seen, however many batches an iteration has") {
  using Iterations = std::vector<std::uint64_t>;
  const Every thirds(5, 3);  // epochs of 5 batches, of which an iteration has 3
  CHECK(ends_of(thirds, 10) == Iterations{2, 4, 5, 7, 9, 10});
  CHECK(ends_of(parse_period(text("2 epochs")).to_iterations(thirds), 10) == Iterations{4, 7, 10});
  CHECK(ends_of(parse_period(text("1 per epoch")).to_iterations(thirds), 10) == ends_of(thirds, 10));
  CHECK(thirds.iterations(30) == 50);
  CHECK(thirds.periods(50) == 30);
  // Four times in each epoch of 50 iterations, the last time at its end.
  const Every halves(100, 2);
  CHECK(ends_of(parse_period(text("8 per epoch")).to_iterations(halves), 100) ==
        Iterations{7, 13, 19, 25, 32, 38, 44, 50, 57, 63, 69, 75, 82, 88, 94, 100});
  // An iteration of more batches than an epoch has.
  const Every eighths(5, 8);
  CHECK(eighths.iterations(30) == 19);
  CHECK(ends_of(eighths, 4) == Iterations{1, 2, 3, 4});
  CHECK(ends_of(parse_period(text("3 epochs")).to_iterations(eighths), 8) == Iterations{2, 4, 6, 8});
  CHECK(ends_of(parse_period(text("10 per epoch")).to_iterations(eighths), 3) == Iterations{1, 2, 3});
  CHECK(eighths.number(1) == 0);
  CHECK(eighths.number(19) == 29);
  for (std::uint64_t epoch = 1; epoch < 100; ++epoch) {
    CAPTURE(epoch);
    CHECK(thirds.ended(thirds.iterations(epoch)) >= epoch);
    CHECK(thirds.ended(thirds.iterations(epoch) - 1) < epoch);
    CHECK(Every(7).iterations(epoch) == 7 * epoch);
    CHECK(Every(7).number(7 * epoch) == epoch - 1);
    CHECK(Every(7).number(7 * epoch + 1) == epoch);
    CHECK(Every(7).begins(7 * epoch + 1));
  }
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

}  // namespace flowtrain::periods_test
