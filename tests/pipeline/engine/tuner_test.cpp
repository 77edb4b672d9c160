#include "pipeline/engine/verdict/tuner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

namespace flowtrain::tuner_test {

namespace {

/// Iterations per second with a tuning.
using Machine = std::function<double(const Tuning&)>;

struct Outcome {
  Tuning best;
  double seconds = 0;  ///< until it settled
  int changes = 0;
};

// Trains until the tuner has settled. A line that is rebuilt gives what was under way, and then waits once.
Outcome train(Tuner& tuner, const Tuning& start, const Machine& rate, double compute_s) {
  Outcome outcome{start};
  Tuning now = start;
  int under_way = 0;
  while (!tuner.settled() && outcome.seconds < 1000) {
    const double iteration_s = under_way-- > 0 ? compute_s : std::max(compute_s, 1 / rate(now));
    outcome.seconds += iteration_s;
    if (const auto change = tuner.after(iteration_s, iteration_s - compute_s)) {
      under_way = static_cast<int>(now.loader.prefetch);
      now = *change;
      ++outcome.changes;
    }
  }
  outcome.best = now;
  return outcome;
}

Tuner::Limits limits() {
  Tuner::Limits limits;
  limits.most = {8, 64, 32};
  return limits;
}

constexpr Tuning first_shape{{8, 2, 4}, 0};

}  // namespace

TEST_CASE("a line that nobody waits for keeps its shape") {
  Tuner tuner(first_shape, limits());
  const auto outcome = train(
      tuner, first_shape, [](const Tuning&) { return 1000.0; }, 0.02);
  CHECK(outcome.changes == 0);
  CHECK(outcome.best == first_shape);
  CHECK(outcome.seconds < 2);
}

TEST_CASE("what is found within 20 seconds is nearly as fast as the best of all shapes") {
  struct Case {
    const char* name;
    Machine rate;
  };
  const auto limited = [](double read, double sample) { return std::min(read, sample); };
  const Case cases[] = {
      {"a slow disk, reads in parallel", [&](const Tuning& t) { return limited(4.0 * t.loader.readers, 100); }},
      {"workers in one another's way",
       [&](const Tuning& t) { return 60.0 * t.loader.workers / (1 + 0.1 * t.loader.workers * t.loader.workers); }},
      {"bursts that a deeper prefetch bridges",
       [&](const Tuning& t) { return 80.0 * t.loader.prefetch / (t.loader.prefetch + 4.0); }},
      {"both",
       [&](const Tuning& t) {
         return limited(10.0 * t.loader.readers, 120.0) * t.loader.prefetch / (t.loader.prefetch + 1.0);
       }},
  };
  for (auto& each : cases) {
    CAPTURE(each.name);
    double fastest = 0;
    for (unsigned workers = 1; workers <= 8; ++workers)
      for (unsigned readers = 2; readers <= 64; ++readers)
        for (std::uint32_t prefetch = 4; prefetch <= 32; ++prefetch)
          fastest = std::max(fastest, each.rate({{workers, readers, prefetch}, 0}));
    Tuner tuner(first_shape, limits());
    const auto outcome = train(tuner, first_shape, each.rate, 0.001);
    CHECK(each.rate(outcome.best) >= 0.95 * fastest);
    CHECK(outcome.best == tuner.best());
    CHECK(outcome.seconds <= 21);
  }
}

TEST_CASE("what was given is not changed") {
  Tuner::Limits fixed;
  fixed.most = first_shape.loader;
  fixed.least_workers = first_shape.loader.workers;
  Tuner tuner(first_shape, fixed);
  const auto outcome = train(
      tuner, first_shape, [](const Tuning& t) { return 10.0 * t.loader.readers; }, 0.001);
  CHECK(outcome.changes == 0);
  CHECK(tuner.settled());
}

TEST_CASE("workers that only take cores from the net are given up, though it never waits") {
  Tuner::Limits shared = limits();
  for (const bool shares : {false, true}) {
    shared.shares_cores = shares;
    Tuner tuner(first_shape, shared);
    // Compute takes longer with each worker beside it; data are always there.
    Tuning now = first_shape;
    double total_s = 0;
    while (!tuner.settled()) {
      const double iteration_s = 0.02 * (1 + 0.2 * now.loader.workers);
      total_s += iteration_s;
      if (const auto change = tuner.after(iteration_s, 0)) now = *change;
    }
    CHECK(now.loader.workers == (shares ? 1 : 8));
    CHECK(now.loader.readers == first_shape.loader.readers);
    CHECK(total_s < 20);
  }
}

TEST_CASE("threads that compute are tried only where they may be") {
  // On four cores: each thread of either kind takes its share of them.
  const Machine rate = [](const Tuning& t) {
    const double threads = t.threads > 0 ? t.threads : 4;
    const double share = std::min(1.0, 4 / (threads + t.loader.workers));
    return std::min(30.0 * threads * share, 10.0 * t.loader.workers * share);
  };
  const Tuning start{{4, 1, 4}, 4};
  Tuner::Limits four;
  four.shares_cores = true;
  four.most = start.loader;
  for (const bool may : {false, true}) {
    four.most_threads = may ? 4 : 0;
    Tuner tuner(start, four);
    const auto outcome = train(tuner, start, rate, 0);
    CHECK((outcome.best.threads < 4) == true);
    CHECK((outcome.best.threads > 0) == may);
    if (may) CHECK(rate(outcome.best) > rate(start));
  }
}

TEST_CASE("slow iterations end the search in time, and the best so far stays") {
  Tuner tuner(first_shape, limits());
  const auto outcome = train(
      tuner, first_shape, [](const Tuning& t) { return 0.1 * t.loader.readers; }, 0.01);
  CHECK(outcome.seconds < 31);
  CHECK(outcome.best == tuner.best());
}

TEST_CASE("the change of which a verdict expects most is tried first") {
  for (const char* key : {"loader.readers", "loader.workers", "loader.prefetch"}) {
    CAPTURE(key);
    Verdict verdict;
    verdict.gains = {{"", key, 0, 1.3}, {"", "another", 0, 2}};
    const Tuning start{{2, 2, 4}, 0};
    Tuner tuner(start, limits());
    std::optional<Tuning> change;
    int judged = 0;
    while (!change)
      change = tuner.after(0.1, 0.1, [&] {
        ++judged;
        return verdict;
      });
    CHECK(judged == 1);
    CHECK((change->loader.readers > 2) == (key == std::string("loader.readers")));
    CHECK((change->loader.workers > 2) == (key == std::string("loader.workers")));
    CHECK((change->loader.prefetch > 4) == (key == std::string("loader.prefetch")));
    REQUIRE(tuner.trials().size() == 1);
    CHECK(tuner.trials()[0].tuning == start);
    CHECK(tuner.trials()[0].rate == doctest::Approx(10));
  }
}

}  // namespace flowtrain::tuner_test
