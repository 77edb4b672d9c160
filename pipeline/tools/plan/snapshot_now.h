#pragma once
// Asks a run that trains for a snapshot: `flowtrain snapshot now`. The run continues.

#include <filesystem>
#include <ostream>

namespace flowtrain {

/// Asks the process that trains in the folder `run` for a snapshot (SIGUSR2), waits until it is complete, and prints
/// its path to `out`. Throws UserError: snapshot if no process of this machine trains the run or accepts requests, or
/// if there is no snapshot at the run's end or after `timeout_s` seconds; usage for a folder that is not a run.
void snapshot_now(const std::filesystem::path& run, double timeout_s, std::ostream& out);

}  // namespace flowtrain
