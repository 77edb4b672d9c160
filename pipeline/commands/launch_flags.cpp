#include "pipeline/commands/launch_flags.h"

#include "pipeline/engine/session/assembly.h"

namespace flowtrain::commands {

void add_launch_flags(CLI::App& app, LaunchOptions& launch) {
  app.add_flag("--distributed", launch.distributed, "run several processes; see --world-size");
  app.add_option("--world-size", launch.world_size,
                 "set the number of nodes; without --rank and --dist-url, all start on this machine");
  app.add_option("--rank", launch.rank, "set the rank of this node, from 0");
  app.add_option("--nproc", launch.nproc, "start so many processes on each node; 0: one per GPU, or 1 without GPUs");
  app.add_option("--dist-url", launch.dist_url, "connect the nodes through tcp://HOST:PORT, file:///PATH, or env://");
  app.add_option("--launcher", launch.launcher,
                 "choose what starts the processes: auto, none, spawn, torchrun, slurm or mpi");
}

Launch find_launch(const LaunchOptions& launch, const std::function<Config()>& load) {
  const bool may_start_ranks = launch.distributed || process_environment()("PET_NNODES");
  if (!may_start_ranks) return find_place(launch, process_environment(), 0);
  const Config config = load();
  LaunchOptions with_config = launch;
  if (launch.rank && launch.dist_url.empty()) with_config.dist_url = config.table("dist").text("url");
  return find_place(with_config, process_environment(), gpus_to_share(config));
}

}  // namespace flowtrain::commands
