// Metrics that are read together.

#include "stages/torch/readout.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <vector>

namespace flowtrain::readout_test {

TEST_CASE("metrics of any type and shape are read together, each exactly as it is") {
  const double third = 1.0 / 3;
  const std::int64_t many = (std::int64_t{1} << 53) - 1;
  Readout read;
  const auto floats = read.ask(at::full({2, 2}, 0.1f)), none = read.ask({}),
             doubles = read.ask(at::full({}, third, at::kDouble)), counts = read.ask(at::full({1}, many, at::kLong)),
             empty = read.ask(at::empty({0}));
  read.fetch();
  CHECK(std::vector<double>(read[floats].begin(), read[floats].end()) ==
        std::vector<double>(4, static_cast<double>(0.1f)));
  CHECK(read[none].empty());
  CHECK(read.one(doubles) == third);
  CHECK(read.one(counts) == static_cast<double>(many));
  CHECK(read[empty].empty());
}

TEST_CASE("where no metric is asked for there are none to read") {
  Readout read;
  const auto none = read.ask({});
  read.fetch();
  CHECK(read[none].empty());
}

}  // namespace flowtrain::readout_test
