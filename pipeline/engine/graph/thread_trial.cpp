#include "pipeline/engine/graph/thread_trial.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace flowtrain {

namespace {

using namespace std::chrono_literals;

constexpr unsigned first_trials = 4;                      // made soon, so that a short run has a result
constexpr double first_cost = 0.04, later_cost = 0.0025;  // shares of the stage's rate
constexpr double all_busy = 0.85, others_busy = 0.6;      // shares of the threads' time
constexpr auto shortest = 2ms, longest = 400ms;           // lengths of a pause
constexpr auto slice = 10ms;                              // time between checks of `stopping`
constexpr unsigned forget_after = 32;                     // number of trials; the cost of a sample may change

/// Sleeps; returns false if `stopping` was set.
bool sleep_until(std::chrono::steady_clock::time_point time, const std::atomic<bool>& stopping) {
  for (auto now = std::chrono::steady_clock::now(); now < time && !stopping; now = std::chrono::steady_clock::now())
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(time - now, slice));
  return !stopping;
}

}  // namespace

void ThreadTrial::after_piece(const StageClock& clock, unsigned threads, const std::atomic<bool>& stopping) {
  if (threads < 2 || Clock::now().time_since_epoch().count() < next_.load(std::memory_order_relaxed)) return;
  if (trying_.exchange(true, std::memory_order_acquire)) return;
  try_without_one(clock, threads, stopping);
  trying_.store(false, std::memory_order_release);
}

void ThreadTrial::try_without_one(const StageClock& clock, unsigned threads, const std::atomic<bool>& stopping) {
  const auto try_at = [&](Clock::time_point time) { next_ = time.time_since_epoch().count(); };
  const Mark begin{Clock::now(), clock.times()};
  const auto last = since_;
  since_ = begin;
  try_at(begin.at + 20 * shortest);
  if (!last) return;
  const double elapsed_s = std::chrono::duration<double>(begin.at - last->at).count();
  const StageTimes stretch = begin.times - last->times;
  if (stretch.busy_s < all_busy * threads * elapsed_s || stretch.samples == 0) return;
  const std::chrono::duration<double> piece(stretch.busy_s / static_cast<double>(stretch.pieces));
  const auto pause = std::chrono::duration_cast<Clock::duration>(
      std::clamp<std::chrono::duration<double>>(10 * piece, shortest, longest));
  if (begin.at - last->at < 2 * pause) {  // such a short stretch would not be a fair comparison
    since_ = last;
    return;
  }

  // Pieces that the others had begun before do not count.
  const bool goes_on = sleep_until(begin.at + pause / 5, stopping);
  const Mark alone{Clock::now(), clock.times()};
  const bool ended = goes_on && sleep_until(begin.at + pause, stopping);
  const Mark end{Clock::now(), clock.times()};
  since_ = end;
  const double cost = trials_ < first_trials ? first_cost : later_cost;
  try_at(end.at + std::chrono::duration_cast<Clock::duration>((end.at - begin.at) / (threads * cost)));
  const StageTimes others = end.times - alone.times;
  const double alone_s = std::chrono::duration<double>(end.at - alone.at).count();
  if (!ended || others.samples == 0 || others.busy_s < others_busy * (threads - 1) * alone_s) return;
  with_all_.add(stretch);
  without_one_.add(others);
  ++trials_;
  publish(threads);
}

// Rates are those at work: waits for work are no property of the threads.
void ThreadTrial::publish(unsigned threads) {
  const double share = (threads - 1.0) / threads * with_all_.per_sample_s() / without_one_.per_sample_s();
  if (trials_ >= 2) share_ = share;
  if (trials_ % forget_after != 0) return;
  for (auto* sum : {&with_all_, &without_one_}) *sum = {sum->busy_s / 2, sum->samples / 2};
}

std::optional<double> ThreadTrial::rate_without_one() const {
  const double share = share_;
  return std::isnan(share) ? std::nullopt : std::optional(share);
}

void ThreadTrial::restart() {
  next_ = 0;
  since_.reset();
  with_all_ = without_one_ = {};
  trials_ = 0;
  share_ = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace flowtrain
