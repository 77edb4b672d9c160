#pragma once
// Records the place of each thread of a run for the flight recorder (recorder.h), whose file outlives the process. If
// no recorder runs, this does nothing and reads no clock; otherwise it costs a few stores to the thread's own memory.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "stages/flight/format.h"

namespace flowtrain {

namespace flight {
class Ring;
class FileWriter;
}  // namespace flight

using FlightKind = flight::Kind;

/// Returns a permanent copy of a text, for FlightSpan: equal texts give the same pointer.
const char* flight_name(const std::string& text);

/// The place of a span.
struct FlightPlace {
  const char* name;             ///< a literal, or flight_name(): pointers are compared, not texts
  std::uint64_t iteration = 0;  ///< 0: the value of flight_iteration()
  std::uint64_t number = 0;     ///< number of a collective
  FlightKind kind = FlightKind::work;
};

/// Marks the calling thread's place while it lives. Spans of a thread nest.
class FlightSpan {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FlightSpan(const FlightPlace& place) {
    if (is_on()) begin(place, Clock::now());
  }
  /// Takes a time that was read already.
  FlightSpan(const FlightPlace& place, Clock::time_point now) {
    if (is_on()) begin(place, now);
  }
  ~FlightSpan() {
    if (ring_) end(Clock::now());
  }
  FlightSpan(const FlightSpan&) = delete;
  FlightSpan& operator=(const FlightSpan&) = delete;

  /// Ends the span before it is destroyed, at a known time.
  void end(Clock::time_point now);

 private:
  static bool is_on();
  void begin(const FlightPlace& place, Clock::time_point now);

  flight::Ring* ring_ = nullptr;  // ring of the thread; null: the span is over, or no recorder runs
  std::size_t depth_ = 0;
};

/// Marks the sample that the calling thread works on, within the innermost span. One object serves several samples.
class FlightSample {
 public:
  FlightSample();

  /// Returns whether a recorder runs.
  explicit operator bool() const { return ring_ != nullptr; }
  /// Begins with record `id` of its data set; `name` is shown with it.
  void at(std::uint64_t id, std::string_view name = {});

 private:
  flight::Ring* ring_;
};

/// Shows the fill of a queue.
class FlightQueue {
 public:
  /// A later queue of the same name takes its place.
  FlightQueue(const std::string& name, std::size_t capacity);
  FlightQueue(const FlightQueue&) = delete;
  FlightQueue& operator=(const FlightQueue&) = delete;

  /// Sets the fill. Any thread.
  void set(std::size_t fill) const;

 private:
  std::shared_ptr<flight::FileWriter> file_;  // null: nothing records
  std::size_t number_ = 0;
};

/// Sets the iteration of the calling thread's spans from now on, unless they have their own.
void flight_iteration(std::uint64_t iteration);

/// Records that this process ends with an error and an exit code (ExitCode). Any thread; the first call counts.
void flight_failed(std::string_view message, int exit_code);

}  // namespace flowtrain
