#pragma once
// What the flight records of a run's ranks say together: which rank to look at, and where it was.

#include <optional>
#include <string>
#include <vector>

#include "pipeline/runs/postmortem/flight_log.h"

namespace flowtrain {

/// Where a rank, or one of its threads, is or was at its end.
struct FlightPosition {
  std::string text;  ///< "`read` of sample 4711 (pictures/cat/7.jpg)"
  double for_s = 0;  ///< how long
};

/// Until when its open places count.
inline FlightTime end_of_record(const FlightLog& log) {
  return log.state == FlightLog::State::stopped ? log.now : log.last;
}

/// Where a thread is: its innermost place within the others; nothing where it is in none.
std::optional<FlightPosition> position_of(const FlightThread& thread, FlightTime until);

/// Where a rank is: its compute thread, or what that one waits for.
FlightPosition position_of(const FlightLog& log);

/// The collective of a rank's compute thread that began last.
struct LastCollective {
  FlightEntry entry;
  bool inside = false;  ///< it has not ended
};
std::optional<LastCollective> last_collective(const FlightLog& log);

/// The newest iteration of a rank's compute thread; 0: none had begun.
std::uint64_t last_iteration(const FlightLog& log);

struct Diagnosis {
  std::string sentence;
  std::optional<std::uint64_t> rank;  ///< that ended first, or that others wait for; nothing where all is well
  FlightPosition position;            ///< of that rank
};

/// `logs`: of one start, by rank; not empty.
Diagnosis diagnose(const std::vector<FlightLog>& logs);

}  // namespace flowtrain
