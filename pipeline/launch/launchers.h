#pragma once
// What each launcher leaves in a rank's environment. Used by place.cpp and supervisor.cpp only.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/launch/rank_info.h"

namespace flowtrain {

/// Which launcher started this process. Open MPI and Slurm with a single process count only if `even_one`: then they
/// are no more than the shell of a plain run.
std::optional<Launcher> detect_launcher(const Environment& environment, bool even_one);

/// The rank that torchrun, Slurm or Open MPI made of this process. `url`: of --dist-url, or empty: theirs.
/// Throws UserError(distributed) naming the variable that is missing or wrong.
RankInfo place_under(Launcher launcher, const Environment& environment, const std::string& url);

/// tcp:// of MASTER_ADDR and MASTER_PORT. Throws UserError(distributed) where they are missing or wrong.
std::string master_url(const Environment& environment);

/// The rank that our own launcher made of this process, if it did.
std::optional<RankInfo> spawned_place(const Environment& environment);
/// The variables that tell a process its place, so that it reads `place` by spawned_place().
std::vector<std::pair<std::string, std::string>> spawned_variables(const RankInfo& place);

}  // namespace flowtrain
