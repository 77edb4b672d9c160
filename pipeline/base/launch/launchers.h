#pragma once
// Reads the variables that launchers set for ranks.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/base/launch/rank_info.h"

namespace flowtrain {

/// Returns the launcher that started this process. Open MPI and Slurm with a single process count only if `even_one`:
/// otherwise they are just the shell of a plain run.
std::optional<Launcher> detect_launcher(const Environment& environment, bool even_one);

/// Returns the rank that torchrun, Slurm or Open MPI gave this process. `url` comes from --dist-url; if empty, theirs
/// is used. Throws UserError(distributed) with the name of the missing or wrong variable.
RankInfo place_under(Launcher launcher, const Environment& environment, const std::string& url);

/// Finds the place of this process in a job whose nodes were started without a launcher of processes, as Kubernetes'
/// operators do: a rank of torch's env:// variables (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), or the starter of its
/// node's ranks by torchrun's variables (PET_NNODES, PET_NPROC_PER_NODE, PET_NODE_RANK, PET_MASTER_ADDR,
/// PET_MASTER_PORT). Returns nothing if the environment names no job, or a job of one process. `gpus` is the number on
/// this machine. Throws UserError(distributed) if a variable is missing, or two contradict each other.
std::optional<Launch> cluster_place(const LaunchOptions& options, const Environment& environment, int gpus);

/// Returns tcp:// of MASTER_ADDR and MASTER_PORT. Throws UserError(distributed) if they are missing or wrong.
std::string master_url(const Environment& environment);

/// Returns the rank that our own launcher gave this process, if it did.
std::optional<RankInfo> spawned_place(const Environment& environment);
/// Returns the variables for a process from which spawned_place() reads `place`.
std::vector<std::pair<std::string, std::string>> spawned_variables(const RankInfo& place);

/// Returns the first host of a Slurm node list: gpu01 of "gpu[01-03,07],cpu2-[1-2]x" (`scontrol show hostnames` prints
/// all). Throws UserError(distributed) if there is none, or brackets do not begin with a number.
std::string first_host(const std::string& list);

/// Returns the tasks on the node at `node`, from 0, of a list such as "2(x3),1": two on each of three nodes, then one
/// (the form of SLURM_TASKS_PER_NODE). Throws UserError(distributed) for another form, or if the list has no such node.
int tasks_on_node(const std::string& list, int node);

}  // namespace flowtrain
