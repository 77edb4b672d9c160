#include "pipeline/base/launch/rank_info.h"

#include <algorithm>
#include <map>

#include "pipeline/base/launch/launchers.h"
#include "pipeline/base/launch/url.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr int most_nodes = 1'000'000;  // times most_processes it still fits into an int
constexpr int most_processes = 1024;   // limit for one machine; more is a mistyped number

const std::map<std::string, Launcher> launchers{{"none", Launcher::none},
                                                {"spawn", Launcher::spawn},
                                                {"torchrun", Launcher::torchrun},
                                                {"slurm", Launcher::slurm},
                                                {"mpi", Launcher::mpi}};

// Returns the launcher whose environment counts; nothing if the flags alone do.
std::optional<Launcher> choose_launcher(const LaunchOptions& options, const Environment& environment) {
  // --world-size says that the user starts the processes; a single one of Open MPI or Slurm does not contradict that.
  if (options.launcher == "auto") return detect_launcher(environment, options.distributed && options.world_size < 0);
  const auto named = launchers.find(options.launcher);
  if (named == launchers.end())
    throw UserError(ExitCode::usage, "--launcher " + options.launcher + ": no such launcher",
                    "Give one of auto, none, spawn, torchrun, slurm, mpi.");
  const Launcher launcher = named->second;
  if (launcher == Launcher::spawn && !options.distributed)
    throw UserError(ExitCode::usage, "--launcher spawn starts ranks only with --distributed",
                    "Add --distributed --world-size 1.");
  return launcher == Launcher::none || launcher == Launcher::spawn ? std::nullopt : std::optional(launcher);
}

// Returns --dist-url, with env:// replaced by its address.
std::string given_url(const std::string& url, const Environment& environment) {
  if (url == "env://") return master_url(environment);
  if (!url.empty()) (void)parse_dist_url(url);
  return url;
}

void refuse_without_distributed(const LaunchOptions& options) {
  const char* flag = options.world_size != -1    ? "--world-size"
                     : options.rank              ? "--rank"
                     : options.nproc != 0        ? "--nproc"
                     : !options.dist_url.empty() ? "--dist-url"
                                                 : nullptr;
  if (flag == nullptr) return;
  throw UserError(ExitCode::usage, concat(flag, " has no meaning without --distributed"),
                  "Add --distributed, or leave it out.");
}

void check_range(const std::string& name, int value, int least, int most, const std::string& hint) {
  if (value >= least && value <= most) return;
  throw UserError(ExitCode::usage, concat(name, " is ", value, ": expected a number from ", least, " to ", most), hint);
}

void check_numbers(const LaunchOptions& options) {
  check_range("--world-size", options.world_size, 1, most_nodes,
              "--distributed needs the number of nodes: give --world-size 1 for this machine alone, or start flowtrain "
              "with torchrun, srun or mpirun.");
  check_range("--nproc", options.nproc, 0, most_processes, "0 or no --nproc starts one process for each GPU.");
  check_range("dist.max_restarts", options.max_restarts, 0, most_nodes, "0 never starts ranks again.");
  if (!options.rank) return;
  check_range("--rank", *options.rank, 0, options.world_size - 1,
              "--rank is the number of this node, from 0, and --world-size the number of nodes.");
  if (options.dist_url.empty() && options.world_size > 1)
    throw UserError(ExitCode::usage, "--rank without --dist-url: the nodes do not know where to meet",
                    "Give --dist-url tcp://HOST:PORT of the node with --rank 0 on every node, or leave out --rank to "
                    "start all processes on this machine.");
}

SpawnPlan spawn_plan(const LaunchOptions& options, const Environment& environment, int gpus) {
  check_numbers(options);
  SpawnPlan plan{.url = given_url(options.dist_url, environment), .max_restarts = options.max_restarts};
  const bool all_here = plan.url.empty();
  // Nodes on one machine share its GPUs: NCCL refuses two ranks on one.
  const int own_gpus = all_here ? gpus / options.world_size : gpus;
  const int nproc = options.nproc > 0 ? options.nproc : std::max(1, own_gpus);
  plan.world = options.world_size * nproc;
  plan.processes = all_here ? plan.world : nproc;
  if (all_here && (options.world_size > most_processes || plan.world > most_processes))
    throw UserError(ExitCode::usage,
                    concat("--world-size ", options.world_size, " with ", nproc,
                           " processes each would start them all on this machine"),
                    "Give --dist-url and --rank on each of several nodes.");
  plan.node = all_here ? 0 : options.rank.value_or(0);
  plan.first_rank = plan.node * nproc;
  return plan;
}

}  // namespace

Launch find_place(const LaunchOptions& options, const Environment& environment, int gpus) {
  if (auto place = spawned_place(environment)) return *place;
  if (auto launcher = choose_launcher(options, environment))
    return place_under(*launcher, environment, given_url(options.dist_url, environment));
  const bool flags_decide = options.distributed && options.world_size >= 0;
  if (options.launcher == "auto" && !flags_decide)
    if (auto place = cluster_place(options, environment, gpus)) return *place;
  if (options.distributed) return spawn_plan(options, environment, gpus);
  refuse_without_distributed(options);
  return SingleProcess{};
}

}  // namespace flowtrain
