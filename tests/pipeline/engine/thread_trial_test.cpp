#include "pipeline/engine/graph/thread_trial.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "sampling/core/mutex.h"

namespace flowtrain::thread_trial_test {

namespace {

// Lets threads work on pieces of a few milliseconds until the trial has an answer.
std::optional<double> measured(unsigned threads, bool one_after_the_other, std::chrono::seconds patience) {
  StageClock clock;
  ThreadTrial trial;
  Mutex lock;
  std::atomic<bool> stopping{false};
  {
    std::vector<std::jthread> pool;
    for (unsigned thread = 0; thread < threads; ++thread)
      pool.emplace_back([&] {
        while (!stopping) {
          {
            const StageClock::Scope busy(clock, 1, {"trial"});
            if (one_after_the_other) {
              MutexLock locked(lock);
              std::this_thread::sleep_for(std::chrono::milliseconds(3));
            } else {
              std::this_thread::sleep_for(std::chrono::milliseconds(3));
            }
          }
          trial.after_piece(clock, threads, stopping);
        }
      });
    const auto begin = std::chrono::steady_clock::now();
    while (!trial.rate_without_one() && std::chrono::steady_clock::now() - begin < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stopping = true;
  }
  const auto share = trial.rate_without_one();
  trial.restart();
  CHECK_FALSE(trial.rate_without_one());
  return share;
}

}  // namespace

TEST_CASE("threads that share nothing lose one thread's part, those behind a lock nothing" *
          doctest::test_suite("full")) {
  const auto apart = measured(2, false, std::chrono::seconds(60)), locked = measured(2, true, std::chrono::seconds(60));
  REQUIRE(apart);
  REQUIRE(locked);
  CHECK(*apart < 0.75);
  CHECK(*locked > 0.75);
}

TEST_CASE("one thread never pauses, so nothing is known of it") {
  CHECK_FALSE(measured(1, false, std::chrono::seconds(0)));
}

}  // namespace flowtrain::thread_trial_test
