#pragma once
// Writes the window of --profile as a file for https://ui.perfetto.dev and chrome://tracing.

#include <string>

#include "stages/trace/profile.h"

namespace flowtrain {

/// Returns the window of a profile in Chrome's trace format, in the order of time: slices of threads (process 1) and of
/// the device's streams (process 2), flows that link the slices of each batch, and counters of queues. Times are
/// microseconds since the profile's beginning. Called after finish().
std::string trace_json(const Profile& profile);

}  // namespace flowtrain
