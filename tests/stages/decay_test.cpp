#include "stages/decay.h"

#include <doctest/doctest.h>

using namespace flowtrain;
using doctest::Approx;

TEST_CASE("the rate is divided after every stepsize iterations") {
  const Decay decay{1.0, 5, 10};
  CHECK(decay.at(1) == 1.0);
  CHECK(decay.at(5) == 1.0);  // iteration k · stepsize still runs on the old one
  CHECK(decay.at(6) == Approx(0.1));
  CHECK(decay.at(10) == Approx(0.1));
  CHECK(decay.at(11) == Approx(0.01));
  CHECK(Decay{0.3}.at(1'000'000) == 0.3);
}

TEST_CASE("warm-up is linear, and the decay goes on underneath") {
  Decay decay{1.0, 0, 10, 4, Warmup::fix, 0.2};
  CHECK(decay.at(1) == Approx(0.2));
  CHECK(decay.at(2) == Approx(0.4));
  CHECK(decay.at(4) == Approx(0.8));
  CHECK(decay.at(5) == 1.0);
  decay.mode = Warmup::factor;
  decay.factor = 0.5;
  CHECK(decay.at(1) == Approx(0.5));
  CHECK(decay.at(3) == Approx(0.75));
  decay.mode = Warmup::automatic;
  CHECK(decay.at(1) == Approx(0.25));
  decay = {1.0, 2, 10, 4, Warmup::factor, 0, 0.5};
  CHECK(decay.at(3) == Approx(0.075));  // 0.1 · (0.5 + 0.5 · 2/4)
  CHECK(decay.at(5) == Approx(0.01));
}
