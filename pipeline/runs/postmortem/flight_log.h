#pragma once
// What the flight recorder of a rank wrote (stages/flight/format.h), checked and with names.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stages/flight/format.h"

namespace flowtrain {

/// Nanoseconds since 1970. Those of ranks on one machine go by its monotonic clock.
using FlightTime = std::int64_t;

/// Without the overflow that damaged files could bring about.
inline double seconds_between(FlightTime begin, FlightTime end) {
  return (static_cast<double>(end) - static_cast<double>(begin)) * 1e-9;
}

/// Where a thread is, or was. Spans of a thread nest.
struct FlightEntry {
  std::string place;
  flight::Kind kind = flight::Kind::work;
  std::size_t depth = 0;  ///< spans around it
  FlightTime begin = 0, end = 0;
  std::uint64_t iteration = 0;  ///< 0: of none
  std::uint64_t number = 0;     ///< of a collective
};

/// The sample that a thread works on.
struct FlightSampleAt {
  std::uint64_t id = 0;
  std::string name;  ///< its file, say; may be empty
  FlightTime since = 0;
};

struct FlightThread {
  std::string name;
  std::uint64_t id = 0;                  ///< the system's
  bool has_ended = false;                ///< before its process did
  std::vector<FlightEntry> open;         ///< where it is, the outermost first; `end` is 0
  std::optional<FlightSampleAt> sample;  ///< within the innermost of these
  std::vector<FlightEntry> past;         ///< the last ones, in the order of their ends
  bool computes() const { return name == "compute"; }
};

struct FlightQueueFill {
  std::string name;
  std::uint64_t fill = 0, capacity = 0;
};

/// One rank of one start.
struct FlightLog {
  enum class State {
    running,
    stopped,  ///< the process is there, and does not run: a signal stopped it, or its machine is too busy
    ended,    ///< by itself
    failed,   ///< by itself, with an error
    gone,     ///< without a word: killed, or crashed
    unknown   ///< whether it lives is not to be seen here: a copy of the file, say
  };

  std::uint64_t rank = 0, world = 1, process = 0;
  std::uint64_t boot = 0;       ///< flight::boot_hash()
  FlightTime wall_offset = 0;   ///< of the wall clock, as it began, before the monotonic one
  std::string host, message;    ///< message: of the error that it ended with
  std::uint64_t exit_code = 0;  ///< of one that failed
  State state = State::gone;
  FlightTime started = 0, now = 0;
  FlightTime last = 0;  ///< its last sign of life; of one that runs: now
  std::uint64_t threads_without_place = 0;
  std::vector<FlightThread> threads;  ///< that computes first
  std::vector<FlightQueueFill> queues;
};

/// Whether a file's process lives, and what time it is.
struct FlightNow {
  bool locked = false;      ///< the process holds its lock on the file
  std::uint64_t inode = 0;  ///< of the file; a copy has another one than it had
  FlightTime wall = 0;
  std::uint64_t boot = 0, monotonic_ns = 0;  ///< of this machine
};

/// The content of a file. Throws UserError(data), with `name` in the message, where it is no such file, of another
/// version, or damaged.
FlightLog parse_flight(std::span<const std::byte> bytes, const FlightNow& now, const std::string& name);

/// The ranks of a start.
struct Flight {
  std::vector<FlightLog> logs;          ///< ordered by rank; at least one
  std::vector<std::string> unreadable;  ///< why others cannot be read
};

/// All ranks of a run whose folder has flight/rank-R.bin; `former`: of the start before. Throws UserError(data) where
/// there is none, or none can be read.
Flight read_flights(const std::filesystem::path& run, bool former);

}  // namespace flowtrain
