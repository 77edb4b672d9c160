#pragma once
// Reads the file of a rank's flight recorder (stages/flight/format.h), checks it and resolves its names.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stages/flight/format.h"

namespace flowtrain {

/// Nanoseconds since 1970. Ranks on one machine use its monotonic clock.
using FlightTime = std::int64_t;

/// Subtracts in floating point, as times of damaged files could overflow integers.
inline double seconds_between(FlightTime begin, FlightTime end) {
  return (static_cast<double>(end) - static_cast<double>(begin)) * 1e-9;
}

/// The place of a thread, now or earlier. Spans of a thread nest.
struct FlightEntry {
  std::string place;
  flight::Kind kind = flight::Kind::work;
  std::size_t depth = 0;  ///< the number of spans around it
  FlightTime begin = 0, end = 0;
  std::uint64_t iteration = 0;  ///< 0: no iteration
  std::uint64_t number = 0;     ///< the number of a collective
};

/// The sample that a thread works on.
struct FlightSampleAt {
  std::uint64_t id = 0;
  std::string name;  ///< the name of its file, for example; may be empty
  FlightTime since = 0;
};

struct FlightThread {
  std::string name;
  std::uint64_t id = 0;                  ///< the system's thread id
  bool has_ended = false;                ///< the thread ended before its process did
  std::vector<FlightEntry> open;         ///< the open places, the outermost first; `end` is 0
  std::optional<FlightSampleAt> sample;  ///< the sample within the innermost place
  std::vector<FlightEntry> past;         ///< the last places, in the order of their ends
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
    stopped,  ///< the process exists but does not run: a signal stopped it, or its machine is too busy
    ended,    ///< the process ended by itself
    failed,   ///< the process ended itself with an error
    gone,     ///< the process was killed or crashed
    unknown   ///< the state cannot be seen here, as in a copy of the file
  };

  std::uint64_t rank = 0, world = 1, process = 0;
  std::uint64_t boot = 0;       ///< flight::boot_hash()
  FlightTime wall_offset = 0;   ///< the wall clock at the start, minus the monotonic one
  std::string host, message;    ///< message: the error that ended it
  std::uint64_t exit_code = 0;  ///< the exit code of a failed process
  State state = State::gone;
  FlightTime started = 0, now = 0;
  FlightTime last = 0;  ///< the last sign of life; while it runs, now
  std::uint64_t threads_without_place = 0;
  std::vector<FlightThread> threads;  ///< the computing thread is first
  std::vector<FlightQueueFill> queues;
};

/// The process of a file, whether it lives, and the current time.
struct FlightNow {
  bool locked = false;      ///< the process holds the lock of the file
  std::uint64_t inode = 0;  ///< the inode of the file; a copy differs in it
  FlightTime wall = 0;
  std::uint64_t boot = 0, monotonic_ns = 0;  ///< the boot and clock of this machine
};

/// Parses a file's content. Throws UserError(data), with `name` in the message, for other and damaged files.
FlightLog parse_flight(std::span<const std::byte> bytes, const FlightNow& now, const std::string& name);

/// The ranks of a start.
struct Flight {
  std::vector<FlightLog> logs;          ///< ordered by rank; at least one
  std::vector<std::string> unreadable;  ///< the reasons why others cannot be read
};

/// Reads all ranks of a run whose folder has flight/rank-R.bin; `former` reads the previous start. Throws
/// UserError(data) if there is none, or none can be read.
Flight read_flights(const std::filesystem::path& run, bool former);

}  // namespace flowtrain
