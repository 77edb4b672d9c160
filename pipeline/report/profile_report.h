#pragma once
// What --profile tells at the end: tables, and a trace for https://ui.perfetto.dev.

#include <filesystem>
#include <string>
#include <vector>

#include "stages/group.h"
#include "stages/profile.h"

namespace flowtrain {

class MetricsFile;

/// Shares of the phases by their names, 0 … 1, and of the rest ("other").
using PhaseShares = std::vector<std::pair<std::string, double>>;
PhaseShares phase_shares(const Profile& profile);

/// Lines: a table of phases, and of the window the operations and the layers that took most. `all`: of each process;
/// where there are several, the one where a phase takes its largest share is named.
std::vector<std::string> profile_lines(const Profile& profile, const std::vector<PhaseShares>& all);

/// The window in Chrome's trace format: an object with `traceEvents`, in microseconds since the run's first one.
std::string trace_json(const Profile& profile);

/// Logs the lines, and writes each process's shares into the metrics and the trace beside them, as of `iteration`. A
/// collective. What cannot be written is done without, as with lines of metrics; null: the run has no folder.
void tell_profile(const Profile& profile, Group& group, MetricsFile* metrics, std::uint64_t iteration);

}  // namespace flowtrain
