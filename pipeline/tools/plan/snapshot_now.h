#pragma once
// `flowtrain snapshot now`: a snapshot of a run that is training, which goes on.

#include <filesystem>
#include <ostream>

namespace flowtrain {

/// Asks the process that trains in the folder `run` for a snapshot (SIGUSR2), waits until it is complete, and prints
/// its path to `out`. Throws UserError: snapshot where no process of this machine trains there, it takes no such
/// request, it ends without one, or none has come after `timeout_s` seconds; usage for a folder that is no run.
void snapshot_now(const std::filesystem::path& run, double timeout_s, std::ostream& out);

}  // namespace flowtrain
