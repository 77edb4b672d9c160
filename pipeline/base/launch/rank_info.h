#pragma once
// The place of this process in a distributed run: alone, one of its ranks, or the one that starts the ranks of a node.
// It follows from the command line and from the environment of torchrun, Slurm, Open MPI or our own launcher.

#include <optional>
#include <string>
#include <variant>

#include "pipeline/base/launch/variables.h"

namespace flowtrain {

/// The options of the command line for a distributed run.
struct LaunchOptions {
  bool distributed = false;
  int world_size = -1;            ///< number of nodes; needed with `distributed` if no launcher knows it
  std::optional<int> rank;        ///< this node's number, from 0
  int nproc = 0;                  ///< processes on each node; 0: one for each of its GPUs, or 1
  std::string dist_url;           ///< tcp://host:port, file:///path, env:// (MASTER_ADDR, MASTER_PORT), or empty
  std::string launcher = "auto";  ///< auto | none | spawn | torchrun | slurm | mpi
  int max_restarts = 0;           ///< limit for ranks that we start ourselves
};

/// The program that started the ranks.
enum class Launcher { none, spawn, torchrun, slurm, mpi };

/// A plain run in a single process.
struct SingleProcess {};

/// The place of a rank.
struct RankInfo {
  int rank = 0;
  int world = 1;
  int local_rank = 0;   ///< number among the ranks of this node
  int local_world = 1;  ///< ranks on this node
  int node = 0;         ///< number of the node, from 0; under Open MPI all nodes are assumed to have equally many ranks
  Launcher launcher = Launcher::none;
  std::string url;              ///< address where the ranks meet: tcp://host:port or file:///path
  bool store_is_there = false;  ///< the launcher serves the store: rank 0 joins it as a client, as the others do
  int restart = 0;              ///< number of restarts by the launcher; part of the store's key names
};

/// The ranks of its node that this process starts (see supervisor.h): `first_rank` and the ones that follow.
struct SpawnPlan {
  int first_rank = 0;
  int processes = 1;  ///< ranks on this node
  int world = 1;      ///< ranks on all nodes
  int node = 0;
  std::string url;  ///< meeting point of the ranks; empty: all are here, and the caller chooses a free port
  int max_restarts = 0;
};

using Launch = std::variant<SingleProcess, RankInfo, SpawnPlan>;

/// Finds the place of this process. `gpus` is this machine's number, the default of --nproc. The order is: a rank that
/// our own launcher started; the launcher named by --launcher, or with `auto` torchrun, then MPI, then Slurm, then,
/// without --world-size, the variables of Kubernetes' operators (cluster_place); --distributed. torchrun always counts.
/// MPI and Slurm count if they started more than one process, or if --distributed comes without --world-size; `none`
/// and `spawn` ignore all of them. Under a launcher its environment decides, and of the flags only --dist-url counts.
/// Without --rank and --dist-url the ranks of all nodes start on this machine and share its GPUs. Throws UserError:
/// usage for flags, distributed for the environment.
Launch find_place(const LaunchOptions& options, const Environment& environment, int gpus);

}  // namespace flowtrain
