#include "pipeline/engine/validation/agreement.h"

#include <doctest/doctest.h>

#include <csignal>

#include "tests/pipeline/engine/scripted_learner.h"

namespace flowtrain::agreement_test {

using namespace flowtrain::testing;

TEST_CASE("a process alone answers itself at once, and for good") {
  Agreement agreement(solo_group());
  for (int question = 0; question < 200; ++question) CHECK_FALSE(agreement.ask({}));
  CHECK(agreement.ask(SIGHUP) == SIGTERM);
  CHECK(agreement.ask({}) == SIGTERM);
  CHECK(Agreement(solo_group()).ask(SIGINT) == SIGINT);
}

TEST_CASE("ranks agree about twice a second, at the same questions, and a rank does nothing by itself in between") {
  QuietGroup group(0, 2);
  Agreement agreement(group);
  group.adds = [](std::span<double> values) { values[2] = 1e-9; };  // batches that take next to no time
  for (int question = 0; question < 200; ++question) CHECK_FALSE(agreement.ask({}));
  CHECK(group.collectives.size() >= 4);  // every 50th question at the latest
  CHECK(group.collectives.size() <= 6);

  const auto agreements = group.collectives.size();
  while (!agreement.ask(SIGINT)) CHECK(group.collectives.size() == agreements);
  CHECK(group.collectives.size() == agreements + 1);
  CHECK(agreement.ask({}) == SIGINT);
  CHECK(group.collectives.size() == agreements + 1);
}

TEST_CASE("ranks whose batches take long agree on each, and another one's signal ends all") {
  QuietGroup group(1, 3);
  Agreement agreement(group);
  group.adds = [](std::span<double> values) { values[2] = 1e6; };
  for (std::size_t question = 0; question < 10; ++question) {
    CHECK_FALSE(agreement.ask({}));
    CHECK(group.collectives.size() == question + 1);
  }
  group.adds = [](std::span<double> values) { values[0] = values[1] = 1; };
  CHECK(agreement.ask({}) == SIGTERM);
}

}  // namespace flowtrain::agreement_test
