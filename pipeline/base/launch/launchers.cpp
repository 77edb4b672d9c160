#include "pipeline/base/launch/launchers.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "pipeline/base/launch/url.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr std::array torch_names = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"};
constexpr auto no_launcher = "Start flowtrain with it, or give --launcher none to ignore the environment.";

Variables torchrun_variables(const Environment& environment) { return {environment, "torchrun", no_launcher}; }
Variables slurm_variables(const Environment& environment) { return {environment, "Slurm", no_launcher}; }
Variables mpi_variables(const Environment& environment) { return {environment, "Open MPI", no_launcher}; }

[[noreturn]] void refuse_hosts(const std::string& list) {
  throw UserError(ExitCode::distributed, "the node list \"" + list.substr(0, 200) + "\" has no first host",
                  "Check SLURM_STEP_NODELIST and SLURM_JOB_NODELIST, or give --dist-url and --launcher none.");
}

[[noreturn]] void refuse_tasks(const std::string& list, const std::string& what) {
  throw UserError(ExitCode::distributed, "the list of tasks per node \"" + list.substr(0, 200) + "\" " + what,
                  "Check SLURM_STEP_TASKS_PER_NODE and SLURM_TASKS_PER_NODE, or give --launcher none.");
}

RankInfo checked(RankInfo place) {
  if (place.rank < place.world && place.local_rank < place.local_world && place.local_world <= place.world)
    return place;
  throw UserError(ExitCode::distributed,
                  concat("the launcher's environment is contradictory: rank ", place.rank, " of ", place.world,
                         ", on its node ", place.local_rank, " of ", place.local_world),
                  "Ranks count from 0. Give --launcher none to ignore the environment.");
}

// Returns a job's own port, equal on all of its ranks, so that jobs that share a machine seldom meet.
int job_port(std::uint64_t job) { return 10'000 + static_cast<int>(job % 10'000); }

// Each pod of Kubernetes is a machine of its own, even if the first one calls itself localhost.
bool meets_on_this_machine(const Variables& variables) {
  const std::string host = variables.find("MASTER_ADDR").value_or("");
  return (host == "localhost" || host == "::1" || host.starts_with("127.")) &&
         !variables.has("KUBERNETES_SERVICE_HOST");
}

RankInfo torchrun_place(const Environment& environment, const std::string& url) {
  const auto variables = torchrun_variables(environment);
  RankInfo place{.rank = variables.number({"RANK"}), .world = variables.number({"WORLD_SIZE"}, 1)};
  // Scripts that imitate torchrun leave out the size of the node, and are on one machine. Scripts of clusters leave out
  // both: then each rank has a node, unless all meet on this one.
  const bool has_local_rank = variables.has("LOCAL_RANK") || variables.has("TORCHELASTIC_RUN_ID");
  const bool one_node = has_local_rank || meets_on_this_machine(variables);
  place.local_world = variables.number_or({"LOCAL_WORLD_SIZE"}, one_node ? place.world : 1);
  place.local_rank = has_local_rank ? variables.number({"LOCAL_RANK"}) : place.rank % std::max(1, place.local_world);
  place.node = variables.number_or({"GROUP_RANK"}, place.rank / std::max(1, place.local_world));
  place.url = url.empty() ? master_url(environment) : url;
  const bool agent = variables.find("TORCHELASTIC_USE_AGENT_STORE") == "True";
  place.store_is_there = agent && place.url == master_url(environment);
  place.restart = variables.number_or({"TORCHELASTIC_RESTART_COUNT"}, 0);
  return place;
}

// The script that sbatch runs once has a job's variables, but no step's: srun has not been called yet.
bool in_batch_script(const Variables& variables) {
  return variables.find("ENVIRONMENT") == "BATCH" && !variables.has("SLURM_STEP_ID");
}

int slurm_tasks(const Variables& variables) { return variables.number_or({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, 1); }

int slurm_tasks_on_node(const Variables& variables, int node) {
  for (auto name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})
    if (auto list = variables.find(name)) return tasks_on_node(*list, node);
  return variables.number({"SLURM_NTASKS_PER_NODE"}, 1);
}

std::string slurm_url(const Variables& variables) {
  const auto host = variables.find("MASTER_ADDR");
  const auto nodes = host ? *host : variables.text({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  const auto own_port = [&] {
    const auto job = variables.number<std::int64_t>({"SLURM_JOB_ID", "SLURM_JOBID"});
    return job_port(job % 10'000 + variables.number_or<std::int64_t>({"SLURM_STEP_ID"}, 0) % 10'000);
  };
  const int port = variables.has("MASTER_PORT") ? variables.number({"MASTER_PORT"}, 1, 65'535) : own_port();
  return tcp_url(host ? *host : first_host(nodes), port);
}

RankInfo slurm_place(const Environment& environment, const std::string& url) {
  const auto variables = slurm_variables(environment);
  if (in_batch_script(variables))
    throw UserError(ExitCode::distributed,
                    "--launcher slurm: this is the batch script's own process, not a task of srun",
                    "Put srun before flowtrain in the script.");
  RankInfo place{.rank = variables.number({"SLURM_PROCID"}),
                 .world = slurm_tasks(variables),
                 .local_rank = variables.number({"SLURM_LOCALID"}),
                 .node = variables.number({"SLURM_NODEID"})};
  place.local_world = place.world == 1 ? 1 : slurm_tasks_on_node(variables, place.node);
  place.url = url.empty() ? slurm_url(variables) : url;
  place.restart = variables.number_or({"SLURM_RESTART_COUNT"}, 0);
  return place;
}

// Open MPI, MVAPICH, and MPICH and Intel MPI use these names. srun sets PMI_RANK, too, but no MPI_LOCALRANKID.
constexpr std::initializer_list<const char*> mpi_rank = {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK"};
constexpr std::initializer_list<const char*> mpi_size = {"OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE"};

bool is_under_mpi(const Variables& variables) {
  return variables.has("OMPI_COMM_WORLD_RANK") || variables.has("MV2_COMM_WORLD_RANK") ||
         (variables.has("PMI_RANK") && variables.has("MPI_LOCALRANKID"));
}

std::string mpi_url(const Environment& environment, const RankInfo& place) {
  const auto variables = mpi_variables(environment);
  const bool has_master = variables.has("MASTER_ADDR") || variables.has("MASTER_PORT");
  if (has_master || place.local_world < place.world || !variables.has("OMPI_COMM_WORLD_RANK"))
    return master_url(environment);
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a is equal in every rank, which std::hash does not promise
  for (unsigned char c : variables.text({"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"}))
    hash = (hash ^ c) * 1099511628211u;
  return tcp_url("127.0.0.1", job_port(hash));
}

RankInfo mpi_place(const Environment& environment, const std::string& url) {
  const auto variables = mpi_variables(environment);
  RankInfo place{
      .rank = variables.number(mpi_rank),
      .world = variables.number(mpi_size, 1),
      .local_rank = variables.number({"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}),
      .local_world =
          variables.number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1)};
  place.node = place.rank / place.local_world;
  place.url = url.empty() ? mpi_url(environment, place) : url;
  return place;
}

}  // namespace

std::string first_host(const std::string& list) {
  std::string host;
  for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const std::string number = list.substr(at + 1, list.find_first_of(",-]", at) - at - 1);
    at = list.find(']', at);
    if (at == list.npos || !parse_number<std::uint32_t>(number)) refuse_hosts(list);
    host += number;
  }
  if (host.empty() || host.find(']') != host.npos) refuse_hosts(list);
  return host;
}

int tasks_on_node(const std::string& list, int node) {
  std::uint64_t nodes_so_far = 0;
  for (std::size_t start = 0; start <= list.size();) {
    const auto comma = std::min(list.find(',', start), list.size());
    std::string_view part = std::string_view(list).substr(start, comma - start);
    std::optional<std::uint32_t> nodes = 1;
    if (const auto open = part.find("(x"); open != part.npos && part.ends_with(')')) {
      nodes = parse_number<std::uint32_t>(part.substr(open + 2, part.size() - open - 3));
      part = part.substr(0, open);
    }
    const auto tasks = parse_number<std::uint32_t>(part);
    if (!tasks || !nodes) refuse_tasks(list, "is not of the form 2(x3),1");
    nodes_so_far += *nodes;
    if (static_cast<std::uint64_t>(node) < nodes_so_far) return static_cast<int>(*tasks);
    start = comma + 1;
  }
  refuse_tasks(list, "has no node " + std::to_string(node));
}

std::string master_url(const Environment& environment) {
  const Variables variables(environment, "the meeting point of the ranks",
                            "Set MASTER_ADDR and MASTER_PORT on every node, or give --dist-url tcp://HOST:PORT.");
  const std::string host = variables.text({"MASTER_ADDR"});
  return tcp_url(host, variables.number({"MASTER_PORT"}, 1, 65'535));
}

std::optional<Launcher> detect_launcher(const Environment& environment, bool even_one) {
  const auto torchrun = torchrun_variables(environment);
  const bool all = std::ranges::all_of(torch_names, [&](auto name) { return torchrun.has(name); });
  if (all || torchrun.has("TORCHELASTIC_RUN_ID")) return Launcher::torchrun;
  // MPI comes before Slurm because mpirun starts its daemons by srun and inherits its variables.
  const auto mpi = mpi_variables(environment);
  if (is_under_mpi(mpi) && (even_one || mpi.number(mpi_size) > 1)) return Launcher::mpi;
  const auto slurm = slurm_variables(environment);
  if (!slurm.has("SLURM_PROCID") || in_batch_script(slurm)) return std::nullopt;
  return even_one || slurm_tasks(slurm) > 1 ? std::optional(Launcher::slurm) : std::nullopt;
}

namespace {

Variables cluster_variables(const Environment& environment) {
  return {environment, "a job of several nodes", "Set it on every node, or give --launcher none to ignore the others."};
}

int processes_per_node(const Variables& variables, int nodes, int gpus) {
  const std::string text = variables.find("PET_NPROC_PER_NODE").value_or("1");
  if (text != "auto" && text != "gpu" && text != "cpu") return variables.number_or({"PET_NPROC_PER_NODE"}, 1);
  return variables.has("WORLD_SIZE") ? std::max(1, variables.number({"WORLD_SIZE"}) / nodes) : std::max(1, gpus);
}

std::string node_url(const Variables& variables) {
  if (const auto endpoint = variables.find("PET_RDZV_ENDPOINT"); endpoint && !variables.has("PET_MASTER_ADDR"))
    return "tcp://" + *endpoint;
  return tcp_url(variables.text({"PET_MASTER_ADDR", "MASTER_ADDR"}),
                 variables.number({"PET_MASTER_PORT", "MASTER_PORT"}, 1, 65'535));
}

// Returns how to start the ranks of this node by the variables that torchrun takes for its options, if they are set.
std::optional<SpawnPlan> node_plan(const LaunchOptions& options, const Variables& variables, int gpus) {
  const auto nodes_text = variables.find("PET_NNODES");
  if (!nodes_text) return std::nullopt;
  if (nodes_text->find(':') != nodes_text->npos)
    throw UserError(ExitCode::distributed,
                    concat("PET_NNODES is ", *nodes_text, ": only torchrun starts a job whose number of nodes varies"),
                    "Start it with torchrun --no-python flowtrain …, or give --launcher none to ignore it.");
  const int nodes = variables.number({"PET_NNODES"}, 1, 1'000'000);
  SpawnPlan plan{.processes = processes_per_node(variables, nodes, gpus), .max_restarts = options.max_restarts};
  plan.world = nodes * plan.processes;
  if (const int world = variables.number_or({"WORLD_SIZE"}, plan.world); world != plan.world)
    throw UserError(ExitCode::distributed,
                    concat("WORLD_SIZE is ", world, ", but PET_NNODES = ", nodes, " with ", plan.processes,
                           " processes each (PET_NPROC_PER_NODE) make ", plan.world),
                    "Correct one of them, or give --launcher none to ignore all.");
  // A rank of torch's env:// starts by itself.
  if (plan.world == 1 || (plan.processes == 1 && variables.has("RANK"))) return std::nullopt;
  plan.node = nodes > 1 ? variables.number({"PET_NODE_RANK", "RANK"}, 0, nodes - 1) : 0;
  plan.first_rank = plan.node * plan.processes;
  if (nodes > 1) plan.url = options.dist_url.empty() ? node_url(variables) : options.dist_url;
  return plan;
}

}  // namespace

std::optional<Launch> cluster_place(const LaunchOptions& options, const Environment& environment, int gpus) {
  const auto variables = cluster_variables(environment);
  if (in_batch_script(slurm_variables(environment))) return std::nullopt;  // Slurm sets them for later tasks
  if (auto plan = node_plan(options, variables, gpus)) return *plan;
  std::vector<std::string> there, missing;
  for (auto name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    const bool needed = options.dist_url.empty() || !std::string_view(name).starts_with("MASTER");
    if (variables.has(name))
      there.emplace_back(name);
    else if (needed)
      missing.emplace_back(name);
  }
  if (!variables.has("RANK") && !variables.has("WORLD_SIZE")) return std::nullopt;
  if (variables.has("RANK") && variables.number_or({"WORLD_SIZE"}, 2) == 1 && !options.distributed) return std::nullopt;
  if (!missing.empty())
    throw UserError(ExitCode::distributed,
                    concat("the environment has ", join(there), ", but not ", join(missing),
                           ": together they make one job of several processes"),
                    "Set all of them on every node, or give --launcher none to ignore them.");
  return place_under(Launcher::torchrun, environment, options.dist_url == "env://" ? "" : options.dist_url);
}

RankInfo place_under(Launcher launcher, const Environment& environment, const std::string& url) {
  RankInfo place;
  if (launcher == Launcher::torchrun) place = torchrun_place(environment, url);
  if (launcher == Launcher::slurm) place = slurm_place(environment, url);
  if (launcher == Launcher::mpi) place = mpi_place(environment, url);
  place.launcher = launcher;
  return checked(place);
}

std::optional<RankInfo> spawned_place(const Environment& environment) {
  const Variables variables(environment, "a rank of --distributed",
                            "FLOWTRAIN_SPAWNED is for flowtrain's own use: unset it.");
  if (!variables.has("FLOWTRAIN_SPAWNED")) return std::nullopt;
  RankInfo place{.rank = variables.number({"RANK"}),
                 .world = variables.number({"WORLD_SIZE"}, 1),
                 .local_rank = variables.number({"LOCAL_RANK"}),
                 .local_world = variables.number({"LOCAL_WORLD_SIZE"}, 1),
                 .node = variables.number({"NODE_RANK"}),
                 .launcher = Launcher::spawn,
                 .url = variables.text({"FLOWTRAIN_URL"})};
  place.store_is_there = parse_dist_url(place.url).file.empty();  // a file needs no server
  place.restart = variables.number({"FLOWTRAIN_RESTART"});
  return checked(place);
}

std::vector<std::pair<std::string, std::string>> spawned_variables(const RankInfo& place) {
  return {{"FLOWTRAIN_SPAWNED", "1"},
          {"RANK", std::to_string(place.rank)},
          {"WORLD_SIZE", std::to_string(place.world)},
          {"LOCAL_RANK", std::to_string(place.local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(place.local_world)},
          {"NODE_RANK", std::to_string(place.node)},
          {"FLOWTRAIN_URL", place.url},
          {"FLOWTRAIN_RESTART", std::to_string(place.restart)}};
}

}  // namespace flowtrain
