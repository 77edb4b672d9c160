#pragma once
// What each launcher leaves in a rank's environment.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/base/launch/rank_info.h"

namespace flowtrain {

/// Which launcher started this process. Open MPI and Slurm with a single process count only if `even_one`: then they
/// are no more than the shell of a plain run.
std::optional<Launcher> detect_launcher(const Environment& environment, bool even_one);

/// The rank that torchrun, Slurm or Open MPI made of this process. `url`: of --dist-url, or empty: theirs.
/// Throws UserError(distributed) naming the variable that is missing or wrong.
RankInfo place_under(Launcher launcher, const Environment& environment, const std::string& url);

/// Finds the place of this process in a job whose nodes were started without a launcher of processes, as Kubernetes'
/// operators do: a rank of torch's env:// variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), or the one that
/// starts the ranks of its node, by what torchrun would be told (PET_NNODES, PET_NPROC_PER_NODE, PET_NODE_RANK,
/// PET_MASTER_ADDR, PET_MASTER_PORT). Returns nothing where the environment names no job, or a job of one process.
/// `gpus`: of this machine. Throws UserError(distributed) where a variable is missing, or two contradict each other.
std::optional<Launch> cluster_place(const LaunchOptions& options, const Environment& environment, int gpus);

/// tcp:// of MASTER_ADDR and MASTER_PORT. Throws UserError(distributed) where they are missing or wrong.
std::string master_url(const Environment& environment);

/// The rank that our own launcher made of this process, if it did.
std::optional<RankInfo> spawned_place(const Environment& environment);
/// The variables that tell a process its place, so that it reads `place` by spawned_place().
std::vector<std::pair<std::string, std::string>> spawned_variables(const RankInfo& place);

/// The first host of a Slurm node list: gpu01 of "gpu[01-03,07],cpu2-[1-2]x" (`scontrol show hostnames` prints all).
/// Throws UserError(distributed) where there is none, or brackets that do not begin with a number.
std::string first_host(const std::string& list);

/// Tasks on the node at `node`, from 0, of a list such as "2(x3),1": two on each of three nodes, then one (the form of
/// SLURM_TASKS_PER_NODE). Throws UserError(distributed) for another form, or where the list has no such node.
int tasks_on_node(const std::string& list, int node);

}  // namespace flowtrain
