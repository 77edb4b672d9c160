#pragma once
// The launcher process of a node: it starts the ranks, passes signals on, and ends all of them when one fails.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/base/launch/rank_info.h"

namespace flowtrain {

struct SuperviseOptions {
  /// The time in which other ranks may end by themselves after the first failure; then they get SIGTERM.
  std::chrono::milliseconds grace = std::chrono::seconds(10);
  /// The time from SIGTERM to SIGKILL.
  std::chrono::milliseconds kill_after = std::chrono::seconds(5);
  /// The time after a first failure with exit code 6 in which the guilty rank may disappear: its connections close some
  /// time before the process is gone.
  std::chrono::milliseconds blame_wait = std::chrono::seconds(1);
  /// Informs other nodes, which see only a broken connection: it is called once for each start of the ranks in which
  /// one fails, on supervise()'s thread, with the guilty rank and its end ("was killed by SIGKILL").
  std::function<void(int rank, const std::string& how)> on_death;
  /// Gets the number of earlier starts, before each start of the ranks.
  std::function<void(int restart)> on_start;
  /// Returns why the job is over although no rank of this node has failed, for example one on another node, or an empty
  /// text. It is called twice a second. Ranks that do not end by themselves within `grace` of that are ended.
  std::function<std::string()> job_failure;
};

/// Starts the ranks of `plan` as `command` (its first word is the path of a program, which is not searched for in
/// PATH), each with its place in the environment (see spawned_place()), and returns when all have ended:
/// - all ended with 0, 130 or 143: it returns that code, the greatest if they differ;
/// - one failed: it returns its exit code, or 6 if a signal killed it. The first failure is to blame and becomes a line
///   of log_error (log_info if its exit code says that it has shown why). Exit code 6, with which ranks also end
///   because another one died, gives way to any other failure. The other ranks are ended as SuperviseOptions says.
/// A failure by a signal or with exit code 6 starts all ranks again, up to plan.max_restarts times. SIGTERM, SIGHUP,
/// SIGUSR1, SIGUSR2 and SIGINT go on to the ranks; Ctrl-C does not, as the terminal sends it to them itself. When this
/// process dies, its ranks get SIGTERM. `url` is the address where the ranks meet, from plan.url or chosen by the
/// caller. One call at a time (InternalError). Throws UserError(distributed) if a process cannot be started.
int supervise(const SpawnPlan& plan, const std::string& url, const std::vector<std::string>& command,
              const SuperviseOptions& options = {});

}  // namespace flowtrain
