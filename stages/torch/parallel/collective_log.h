#pragma once
// A process's last collectives with the others. When one of them fails, its heartbeat compares the ranks, and writes
// the record. The flight recorder (stages/flight/) has the places of all threads, after any end.

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// The last collectives of a process. Any thread.
class CollectiveLog {
 public:
  /// The number of collectives that are kept.
  static constexpr std::size_t kept = 64;

  void at_iteration(std::uint64_t iteration);
  /// Begins a collective; `what` is a literal, "the averaging of gradients". Returns its number, from 1.
  std::uint64_t enter(const char* what);
  /// Ends the collective of that number.
  void leave(std::uint64_t number);

  /// Records the time that an answer of the rendezvous store took.
  void answered(std::chrono::steady_clock::duration after);
  /// Returns the longest of these times since the last call, in seconds.
  double take_longest_answer();

  struct Position {
    std::uint64_t entered = 0;  ///< collectives begun; the others wait for the process with the fewest
    std::string what;           ///< purpose of the last one; empty before the first
    std::string text;           ///< "iteration 57, in the averaging of gradients (collective 530)"
  };
  Position position() const;
  /// Returns the purpose of the collective of that number; nothing if it has not begun, or is not kept any more.
  std::optional<std::string> what(std::uint64_t number) const;
  /// Returns a line of JSON for each, oldest first: collective, what, iteration, began_s (since this process joined),
  /// took_s (null: it did not end).
  std::string to_jsonl() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Collective {
    const char* what;
    std::uint64_t iteration;
    Clock::time_point began, ended;
    bool is_over = false;
  };

  std::optional<std::size_t> place_of(std::uint64_t number) const FT_REQUIRES(mutex_);

  const Clock::time_point start_ = Clock::now();
  mutable Mutex mutex_;
  std::deque<Collective> last_ FT_GUARDED_BY(mutex_);
  Clock::duration longest_answer_ FT_GUARDED_BY(mutex_){};
  std::uint64_t entered_ FT_GUARDED_BY(mutex_) = 0;
  std::uint64_t iteration_ FT_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowtrain
