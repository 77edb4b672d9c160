#pragma once
// What each thread of a run is at, for the flight recorder (recorder.h), whose file outlives the process. Where none
// records, this does nothing and reads no clock. What it costs is some stores to memory of the thread's own.

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

/// A text that stays, for FlightSpan: equal texts are the same pointer.
const char* flight_name(const std::string& text);

/// Where a span is.
struct FlightPlace {
  const char* name;             ///< a literal, or flight_name(): pointers are compared, not texts
  std::uint64_t iteration = 0;  ///< 0: that of flight_iteration()
  std::uint64_t number = 0;     ///< of a collective
  FlightKind kind = FlightKind::work;
};

/// The calling thread is at a place while it lives. Spans of a thread nest.
class FlightSpan {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FlightSpan(const FlightPlace& place) {
    if (is_on()) begin(place, Clock::now());
  }
  /// Where the clock was read already.
  FlightSpan(const FlightPlace& place, Clock::time_point now) {
    if (is_on()) begin(place, now);
  }
  ~FlightSpan() {
    if (ring_) end(Clock::now());
  }
  FlightSpan(const FlightSpan&) = delete;
  FlightSpan& operator=(const FlightSpan&) = delete;

  /// Ends before it is destroyed, at a time that is known.
  void end(Clock::time_point now);

 private:
  static bool is_on();
  void begin(const FlightPlace& place, Clock::time_point now);

  flight::Ring* ring_ = nullptr;  // of the thread; null: it is over, or nothing records
  std::size_t depth_ = 0;
};

/// The sample that the calling thread works on, within the innermost span. Made once for several samples.
class FlightSample {
 public:
  FlightSample();

  /// Whether anything records.
  explicit operator bool() const { return ring_ != nullptr; }
  /// It begins with record `id` of its data set; `name` is shown with it.
  void at(std::uint64_t id, std::string_view name = {});

 private:
  flight::Ring* ring_;
};

/// How full a queue is.
class FlightQueue {
 public:
  /// One queue for each name; a later one of that name takes its place.
  FlightQueue(const std::string& name, std::size_t capacity);
  FlightQueue(const FlightQueue&) = delete;
  FlightQueue& operator=(const FlightQueue&) = delete;

  /// Any thread.
  void set(std::size_t fill) const;

 private:
  std::shared_ptr<flight::FileWriter> file_;  // null: nothing records
  std::size_t number_ = 0;
};

/// The calling thread's spans are of this iteration from now on, unless they say otherwise.
void flight_iteration(std::uint64_t iteration);

/// This process ends with an error, and with an exit code (ExitCode). Any thread; the first one counts.
void flight_failed(std::string_view message, int exit_code);

}  // namespace flowtrain
