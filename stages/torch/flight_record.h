#pragma once
// What a process did last with the others: kept for the moment in which one of them fails.

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "sampling/mutex.h"

namespace flowtrain {

/// The last collectives of a process. Any thread.
class FlightRecord {
 public:
  /// How many collectives are kept.
  static constexpr std::size_t kept = 64;

  void at_iteration(std::uint64_t iteration);
  /// A collective begins; `what` is a literal, "the averaging of gradients".
  void enter(const char* what);
  /// The one that began last has ended.
  void leave();

  /// An answer of the store where the ranks meet has come, after so long.
  void answered(std::chrono::steady_clock::duration after);
  /// The longest of these since the last call, in seconds.
  double take_longest_answer();

  /// How many have begun: the process with the fewest is the one that the others wait for.
  std::uint64_t entered() const;
  /// "iteration 57, in the averaging of gradients (collective 530)".
  std::string last() const;
  /// A line of JSON for each, oldest first: collective, what, iteration, began_s (since this process joined), took_s
  /// (null: it did not end).
  std::string to_jsonl() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Collective {
    const char* what;
    std::uint64_t iteration;
    Clock::time_point began, ended;
    bool is_over = false;
  };

  const Clock::time_point start_ = Clock::now();
  mutable Mutex mutex_;
  std::deque<Collective> last_ FT_GUARDED_BY(mutex_);
  Clock::duration longest_answer_ FT_GUARDED_BY(mutex_){};
  std::uint64_t entered_ FT_GUARDED_BY(mutex_) = 0;
  std::uint64_t iteration_ FT_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowtrain
