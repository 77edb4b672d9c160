#pragma once
// The report of --profile: tables, and a trace for https://ui.perfetto.dev.

#include <cstdint>

#include "stages/core/group.h"
#include "stages/trace/profile.h"

namespace flowtrain {

class MetricsFile;

/// Logs a table of the phases, and of the recorded window the most expensive operations and layers; with several
/// processes it names the one where a phase takes its largest share. Writes each process's shares into the metrics, as
/// of `iteration`, and beside them the window in Chrome's trace format (microseconds since the run's first iteration).
/// A collective. A failure to write the trace is a warning; null: the run has no folder.
void tell_profile(const Profile& profile, Group& group, MetricsFile* metrics, std::uint64_t iteration);

}  // namespace flowtrain
