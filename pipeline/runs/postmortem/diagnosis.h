#pragma once
// Compares the flight records of a run's ranks: which rank is to blame, and where it was.

#include <optional>
#include <string>
#include <vector>

#include "pipeline/runs/postmortem/flight_log.h"

namespace flowtrain {

/// The place of a rank or thread, now or at its end.
struct FlightPosition {
  std::string text;  ///< "`read` of sample 4711 (pictures/cat/7.jpg)"
  double for_s = 0;  ///< seconds that it has been there
};

/// Returns the time until which open places count.
inline FlightTime end_of_record(const FlightLog& log) {
  return log.state == FlightLog::State::stopped ? log.now : log.last;
}

/// Returns the innermost place of a thread, within the others; empty if it is in none.
std::optional<FlightPosition> position_of(const FlightThread& thread, FlightTime until);

/// Returns the place of a rank: that of its compute thread, or of the thread that this one waits for.
FlightPosition position_of(const FlightLog& log);

/// The last collective that a rank's compute thread began.
struct LastCollective {
  FlightEntry entry;
  bool inside = false;  ///< it has not ended
};
std::optional<LastCollective> last_collective(const FlightLog& log);

/// Returns the newest iteration of a rank's compute thread; 0 if none had begun.
std::uint64_t last_iteration(const FlightLog& log);

struct Diagnosis {
  std::string sentence;
  std::optional<std::uint64_t> rank;  ///< the rank that ended first, or that others wait for; empty if all is well
  FlightPosition position;            ///< the position of that rank
};

/// Diagnoses `logs`, those of one start, by rank; there is at least one.
Diagnosis diagnose(const std::vector<FlightLog>& logs);

}  // namespace flowtrain
