// The environment variables of torchrun, Slurm, Open MPI and our own launcher are read.

#include "pipeline/base/launch/launchers.h"

#include <doctest/doctest.h>

#include <utility>

#include "sampling/core/error.h"
#include "tests/pipeline/base/launch/environments.h"
#include "tests/pipeline/base/launch/expect_error.h"

namespace flowtrain::launchers_test {

using namespace flowtrain::testing;

namespace {

const Values torchrun = {{"TORCHELASTIC_RUN_ID", "none"},
                         {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                         {"TORCHELASTIC_RESTART_COUNT", "2"},
                         {"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "4"},
                         {"GROUP_RANK", "1"},
                         {"MASTER_ADDR", "node1"},
                         {"MASTER_PORT", "29400"}};
const Values slurm = {{"SLURM_JOB_ID", "1234567"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_PROCID", "6"},
                      {"SLURM_NTASKS", "7"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_NODEID", "3"},
                      {"SLURM_TASKS_PER_NODE", "2(x3),1"},
                      {"SLURM_JOB_NODELIST", "gpu[07-09],cpu1"}};
const Values mpi = {
    {"OMPI_COMM_WORLD_RANK", "3"},       {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"MASTER_ADDR", "node1"},      {"MASTER_PORT", "29400"}};
const Values mpi_here = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"OMPI_MCA_ess_base_jobid", "3141795841"}};

void refuse(const Values& values, const std::string& message, const LaunchOptions& options = {}) {
  expect_error(ExitCode::distributed, message, [&] { place_in(values, options); });
}

bool is_alone(const Values& values, const LaunchOptions& options = {}) {
  return std::holds_alternative<SingleProcess>(place_in(values, options));
}

}  // namespace

TEST_CASE("torchrun's ranks join the store of its agent") {
  const auto place = rank_in(torchrun);
  CHECK(place.rank == 5);
  CHECK(place.world == 8);
  CHECK(place.local_rank == 1);
  CHECK(place.local_world == 4);
  CHECK(place.node == 1);
  CHECK(place.launcher == Launcher::torchrun);
  CHECK(place.url == "tcp://node1:29400");
  CHECK(place.store_is_there);
  CHECK(place.restart == 2);
  // Flags that would start processes are not heeded.
  CHECK(rank_in(torchrun, {.distributed = true, .world_size = 1}).rank == 5);
  CHECK(rank_in(torchrun, {.distributed = true, .launcher = "torchrun"}).rank == 5);
  CHECK(rank_in(torchrun, {.dist_url = "env://"}).store_is_there);
}

TEST_CASE("torchrun without a store, or with a meeting point of ours") {
  CHECK_FALSE(rank_in(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).store_is_there);
  const auto place = rank_in(torchrun, {.dist_url = "tcp://node2:80"});
  CHECK(place.url == "tcp://node2:80");
  CHECK_FALSE(place.store_is_there);
}

TEST_CASE("the variables of torchrun are enough without torchrun") {
  const Values five = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "::1"}, {"MASTER_PORT", "80"}};
  const auto place = rank_in(five);
  CHECK(place.launcher == Launcher::torchrun);
  CHECK(place.rank == 1);
  CHECK(place.local_world == 2);
  CHECK(place.node == 0);
  CHECK(place.url == "tcp://[::1]:80");
  CHECK_FALSE(place.store_is_there);
  CHECK(place.restart == 0);
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    CAPTURE(name);
    Values others = five;
    others.erase("LOCAL_RANK");
    std::string there;
    for (const char* each : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
      if (std::string(each) != name) there += (there.empty() ? "" : ", ") + std::string(each);
    refuse(with(five, {{name, ""}}),
           "the environment has " + there + ", but not " + name + ": together they make one job of several processes");
    CHECK(is_alone(with(others, {{name, ""}}), {.launcher = "none"}));
  }
  CHECK(is_alone({{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "80"}, {"LOCAL_RANK", "0"}}));
}

namespace {

const Values pod = {{"RANK", "1"},
                    {"WORLD_SIZE", "2"},
                    {"MASTER_ADDR", "job-master-0"},
                    {"MASTER_PORT", "23456"},
                    {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
const Values trainer_node = {{"PET_NNODES", "2"},
                             {"PET_NPROC_PER_NODE", "4"},
                             {"PET_NODE_RANK", "1"},
                             {"PET_MASTER_ADDR", "job-node-0"},
                             {"PET_MASTER_PORT", "29500"}};

SpawnPlan plan_in(const Values& values, const LaunchOptions& options = {}) {
  return std::get<SpawnPlan>(place_in(values, options));
}

}  // namespace

TEST_CASE("pods with torch's env:// variables and no LOCAL_RANK are one job, each with a node of its own") {
  const auto place = rank_in(pod);
  CHECK(place.rank == 1);
  CHECK(place.world == 2);
  CHECK(place.local_rank == 0);
  CHECK(place.local_world == 1);
  CHECK(place.node == 1);
  CHECK(place.launcher == Launcher::torchrun);
  CHECK(place.url == "tcp://job-master-0:23456");
  CHECK_FALSE(place.store_is_there);
  CHECK(rank_in(with(pod, {{"RANK", "0"}, {"MASTER_ADDR", "localhost"}})).local_world == 1);
  CHECK(rank_in(with(pod, {{"LOCAL_WORLD_SIZE", "2"}})).local_rank == 1);
  CHECK(rank_in(pod, {.distributed = true}).rank == 1);
  CHECK(rank_in(pod, {.launcher = "torchrun"}).rank == 1);
  // Outside of a pod, ranks that meet on this machine share it.
  const auto here = rank_in(with(pod, {{"MASTER_ADDR", "127.0.0.1"}, {"KUBERNETES_SERVICE_HOST", ""}}));
  CHECK(here.local_rank == 1);
  CHECK(here.local_world == 2);
  CHECK(is_alone(pod, {.launcher = "none"}));
  CHECK(is_alone(with(pod, {{"RANK", "0"}, {"WORLD_SIZE", "1"}})));
  // Flags that say who starts what come first.
  CHECK(plan_in(pod, {.distributed = true, .world_size = 2, .rank = 1, .dist_url = "env://"}).node == 1);
  refuse(with(pod, {{"RANK", "2"}}), "the launcher's environment is contradictory: rank 2 of 2, on its node 0 of 1");
  // A batch script sets them for what it starts.
  CHECK(is_alone(with(slurm, {{"SLURM_STEP_ID", ""}, {"ENVIRONMENT", "BATCH"}, {"WORLD_SIZE", "2"}})));
  CHECK(rank_in(with(slurm, {{"WORLD_SIZE", "7"}})).launcher == Launcher::slurm);
}

TEST_CASE("a node whose environment has torchrun's options starts its ranks") {
  const auto plan = plan_in(trainer_node);
  CHECK(plan.world == 8);
  CHECK(plan.processes == 4);
  CHECK(plan.node == 1);
  CHECK(plan.first_rank == 4);
  CHECK(plan.url == "tcp://job-node-0:29500");
  CHECK(plan_in(with(trainer_node, {{"PET_NNODES", "1"}, {"PET_NODE_RANK", ""}})).url.empty());
  CHECK(std::get<SpawnPlan>(find_place({}, environment_of(with(trainer_node, {{"PET_NPROC_PER_NODE", "auto"}})), 3))
            .processes == 3);
  CHECK(is_alone(with(trainer_node, {{"PET_NNODES", "1"}, {"PET_NPROC_PER_NODE", "1"}})));
  CHECK(is_alone(trainer_node, {.launcher = "none"}));
  // With torch's variables beside them: ranks where each node has one, else those of the node.
  const Values both = with(pod, {{"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "auto"}, {"PET_NODE_RANK", "1"}});
  CHECK(rank_in(both).world == 2);
  CHECK(plan_in(with(both, {{"WORLD_SIZE", "4"}, {"PET_NPROC_PER_NODE", "2"}})).first_rank == 2);
  CHECK(rank_in(with(torchrun, trainer_node)).rank == 5);  // torchrun has read them

  refuse(with(both, {{"WORLD_SIZE", "3"}, {"PET_NPROC_PER_NODE", "2"}}),
         "WORLD_SIZE is 3, but PET_NNODES = 2 with 2 processes each (PET_NPROC_PER_NODE) make 4");
  refuse(with(trainer_node, {{"PET_NODE_RANK", ""}}),
         "a job of several nodes needs the environment variable PET_NODE_RANK, which is not set");
  refuse(with(trainer_node, {{"PET_MASTER_ADDR", ""}}),
         "a job of several nodes needs the environment variable PET_MASTER_ADDR, which is not set");
  refuse(with(trainer_node, {{"PET_NNODES", "1:4"}}),
         "PET_NNODES is 1:4: only torchrun starts a job whose number of nodes varies");
}

TEST_CASE("MPICH's and Intel MPI's processes are ranks as Open MPI's are") {
  const Values hydra = {{"PMI_RANK", "3"},        {"PMI_SIZE", "4"},        {"MPI_LOCALRANKID", "1"},
                        {"MPI_LOCALNRANKS", "2"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29400"}};
  const auto place = rank_in(hydra);
  CHECK(place.rank == 3);
  CHECK(place.local_rank == 1);
  CHECK(place.node == 1);
  CHECK(place.launcher == Launcher::mpi);
  CHECK(rank_in(with(slurm, {{"PMI_RANK", "6"}, {"PMI_SIZE", "7"}})).launcher == Launcher::slurm);
  refuse(with(hydra, {{"MASTER_PORT", ""}}),
         "the meeting point of the ranks needs the environment variable MASTER_PORT, which is not set");
}

TEST_CASE("a torchrun of one process is a world of one") {
  const auto place = rank_in(
      with(torchrun,
           {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}, {"GROUP_RANK", "0"}}));
  CHECK(place.world == 1);
  CHECK(place.launcher == Launcher::torchrun);
}

TEST_CASE("torchrun's variables must make sense") {
  refuse(with(torchrun, {{"RANK", ""}}), "torchrun needs the environment variable RANK, which is not set");
  refuse(with(torchrun, {{"RANK", "one"}}),
         "the environment variable RANK is \"one\": expected a whole number from 0 to 2147483647");
  refuse(with(torchrun, {{"WORLD_SIZE", "0"}}),
         "the environment variable WORLD_SIZE is \"0\": expected a whole number from 1 to 2147483647");
  refuse(with(torchrun, {{"LOCAL_RANK", ""}}), "torchrun needs the environment variable LOCAL_RANK, which is not set");
  refuse(with(torchrun, {{"MASTER_PORT", "70000"}}),
         "the environment variable MASTER_PORT is \"70000\": expected a whole number from 1 to 65535");
  refuse(with(torchrun, {{"RANK", "8"}}),
         "the launcher's environment is contradictory: rank 8 of 8, on its node 1 of 4");
  refuse(with(torchrun, {{"LOCAL_RANK", "4"}}),
         "the launcher's environment is contradictory: rank 5 of 8, on its node 4 of 4");
  refuse({}, "torchrun needs the environment variable RANK, which is not set", {.launcher = "torchrun"});
}

TEST_CASE("Slurm's tasks meet on the first node of the list") {
  const auto place = rank_in(slurm);
  CHECK(place.rank == 6);
  CHECK(place.world == 7);
  CHECK(place.local_rank == 0);
  CHECK(place.local_world == 1);
  CHECK(place.node == 3);
  CHECK(place.launcher == Launcher::slurm);
  CHECK(place.url == "tcp://gpu07:14567");
  CHECK_FALSE(place.store_is_there);
  CHECK(place.restart == 0);

  CHECK(rank_in(with(slurm, {{"SLURM_RESTART_COUNT", "1"}})).restart == 1);
  CHECK(rank_in(with(slurm, {{"SLURM_STEP_ID", "3"}})).url == "tcp://gpu07:14570");
  CHECK(rank_in(with(slurm, {{"SLURM_JOB_ID", "9999"}, {"SLURM_STEP_ID", "1"}})).url == "tcp://gpu07:10000");
  CHECK(rank_in(with(slurm, {{"SLURM_STEP_ID", "4294967290"}})).url == "tcp://gpu07:11857");
  CHECK(rank_in(with(slurm, {{"MASTER_ADDR", "head"}})).url == "tcp://head:14567");
  CHECK(rank_in(with(slurm, {{"MASTER_PORT", "80"}})).url == "tcp://gpu07:80");
  const Values no_job = {{"SLURM_JOB_ID", ""}, {"SLURM_JOB_NODELIST", ""}};
  CHECK(rank_in(with(slurm, no_job), {.dist_url = "file:///shared/meet"}).url == "file:///shared/meet");
}

TEST_CASE("the variables of a Slurm step come before those of its job") {
  const auto place = rank_in(with(slurm, {{"SLURM_STEP_NUM_TASKS", "2"},
                                          {"SLURM_PROCID", "1"},
                                          {"SLURM_LOCALID", "1"},
                                          {"SLURM_NODEID", "0"},
                                          {"SLURM_STEP_TASKS_PER_NODE", "2"},
                                          {"SLURM_STEP_NODELIST", "cpu1"}}));
  CHECK(place.world == 2);
  CHECK(place.local_world == 2);
  CHECK(place.url == "tcp://cpu1:14567");
  const auto even = rank_in(with(slurm, {{"SLURM_TASKS_PER_NODE", ""}, {"SLURM_NTASKS_PER_NODE", "2"}}));
  CHECK(even.local_world == 2);
}

TEST_CASE("a single Slurm task counts only where --distributed leaves the world to it") {
  const auto one = with(slurm, {{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NODEID", "0"}});
  CHECK(is_alone(one));
  const auto place = rank_in(one, {.distributed = true});
  CHECK(place.world == 1);
  CHECK(place.local_world == 1);
  CHECK(place.launcher == Launcher::slurm);
  CHECK(std::get<SpawnPlan>(place_in(one, {.distributed = true, .world_size = 1, .nproc = 2})).processes == 2);
  CHECK(rank_in(one, {.launcher = "slurm"}).world == 1);
}

TEST_CASE("a batch script of Slurm is not yet one of its tasks") {
  const auto script = with(slurm, {{"SLURM_STEP_ID", ""}, {"ENVIRONMENT", "BATCH"}, {"SLURM_PROCID", "0"}});
  CHECK(is_alone(script));
  CHECK(std::get<SpawnPlan>(place_in(script, {.distributed = true, .world_size = 1, .nproc = 2})).processes == 2);
  refuse(script, "--launcher slurm: this is the batch script's own process, not a task of srun", {.launcher = "slurm"});
  CHECK(rank_in(with(slurm, {{"ENVIRONMENT", "BATCH"}})).rank == 6);  // srun in the script
}

TEST_CASE("Slurm's variables must make sense") {
  const auto missing = [](const std::string& variable) {
    return "Slurm needs the environment variable " + variable + ", which is not set";
  };
  refuse(with(slurm, {{"SLURM_LOCALID", ""}}), missing("SLURM_LOCALID"));
  refuse(with(slurm, {{"SLURM_NODEID", ""}}), missing("SLURM_NODEID"));
  refuse(with(slurm, {{"SLURM_TASKS_PER_NODE", ""}}), missing("SLURM_NTASKS_PER_NODE"));
  refuse(with(slurm, {{"SLURM_JOB_NODELIST", ""}}), missing("SLURM_STEP_NODELIST"));
  refuse(with(slurm, {{"SLURM_JOB_ID", ""}}), missing("SLURM_JOB_ID"));
  refuse({}, missing("SLURM_PROCID"), {.launcher = "slurm"});
  refuse(with(slurm, {{"SLURM_NTASKS", "many"}}),
         "the environment variable SLURM_NTASKS is \"many\": expected a whole number from 0 to 2147483647");
  refuse(with(slurm, {{"MASTER_PORT", "0"}}),
         "the environment variable MASTER_PORT is \"0\": expected a whole number from 1 to 65535");
  refuse(with(slurm, {{"SLURM_JOB_NODELIST", "gpu[1-"}}), "the node list \"gpu[1-\" has no first host");
  refuse(with(slurm, {{"SLURM_NODEID", "4"}}), "the list of tasks per node \"2(x3),1\" has no node 4");
  refuse(with(slurm, {{"SLURM_PROCID", "7"}}),
         "the launcher's environment is contradictory: rank 7 of 7, on its node 0 of 1");
}

TEST_CASE("Open MPI's processes meet where MASTER_ADDR says") {
  const auto place = rank_in(mpi);
  CHECK(place.rank == 3);
  CHECK(place.world == 4);
  CHECK(place.local_rank == 1);
  CHECK(place.local_world == 2);
  CHECK(place.node == 1);
  CHECK(place.launcher == Launcher::mpi);
  CHECK(place.url == "tcp://node1:29400");
  CHECK_FALSE(place.store_is_there);
  const Values no_master = {{"MASTER_ADDR", ""}, {"MASTER_PORT", ""}};
  CHECK(rank_in(with(mpi, no_master), {.dist_url = "tcp://node2:80"}).url == "tcp://node2:80");
  // mpirun under Slurm: its daemons were tasks of srun.
  auto under_slurm = with(slurm, mpi);
  CHECK(rank_in(under_slurm).launcher == Launcher::mpi);
  CHECK(rank_in(under_slurm, {.launcher = "slurm"}).launcher == Launcher::slurm);
}

TEST_CASE("Open MPI on one machine needs no meeting point") {
  const auto url = rank_in(mpi_here).url;
  CHECK(url.starts_with("tcp://127.0.0.1:1"));
  CHECK(url == rank_in(with(mpi_here, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}})).url);
  CHECK(url != rank_in(with(mpi_here, {{"OMPI_MCA_ess_base_jobid", "3141795842"}})).url);
  const Values newer = {{"OMPI_MCA_ess_base_jobid", ""}, {"PMIX_NAMESPACE", "prterun-node1-4711@1"}};
  CHECK(rank_in(with(mpi_here, newer)).url.starts_with("tcp://127.0.0.1:1"));
  CHECK(rank_in(with(mpi_here, {{"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "80"}})).url == "tcp://localhost:80");
}

TEST_CASE("a single process of Open MPI counts only where --distributed leaves the world to it") {
  const auto one = with(mpi_here, {{"OMPI_COMM_WORLD_RANK", "0"},
                                   {"OMPI_COMM_WORLD_SIZE", "1"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
  CHECK(is_alone(one));
  CHECK(rank_in(one, {.distributed = true}).launcher == Launcher::mpi);
  CHECK(rank_in(one, {.launcher = "mpi"}).world == 1);
}

TEST_CASE("Open MPI's variables must make sense") {
  refuse(with(mpi, {{"MASTER_ADDR", ""}}),
         "the meeting point of the ranks needs the environment variable MASTER_ADDR, which is not set");
  refuse(with(mpi, {{"MASTER_PORT", ""}}),
         "the meeting point of the ranks needs the environment variable MASTER_PORT, which is not set");
  refuse(with(mpi_here, {{"OMPI_MCA_ess_base_jobid", ""}}),
         "Open MPI needs the environment variable OMPI_MCA_ess_base_jobid, which is not set");
  refuse(with(mpi, {{"OMPI_COMM_WORLD_SIZE", ""}}),
         "Open MPI needs the environment variable OMPI_COMM_WORLD_SIZE, which is not set");
  refuse(with(mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "0"}}),
         "the environment variable OMPI_COMM_WORLD_LOCAL_SIZE is \"0\": expected a whole number from 1 to 2147483647");
  refuse(with(mpi, {{"OMPI_COMM_WORLD_RANK", "4"}}),
         "the launcher's environment is contradictory: rank 4 of 4, on its node 1 of 2");
  refuse({}, "Open MPI needs the environment variable OMPI_COMM_WORLD_RANK, which is not set", {.launcher = "mpi"});
}

TEST_CASE("a rank reads what our launcher wrote") {
  const RankInfo place{.rank = 5,
                       .world = 6,
                       .local_rank = 2,
                       .local_world = 3,
                       .node = 1,
                       .launcher = Launcher::spawn,
                       .url = "tcp://node1:80",
                       .restart = 4};
  Values values;
  for (const auto& [name, value] : spawned_variables(place)) values[name] = value;
  // Also where the launcher itself ran under one, and whatever the flags say: the ranks have the launcher's.
  for (const auto* outer : {&torchrun, &slurm, &mpi}) {
    for (const char* launcher : {"auto", "none", "spawn", "slurm"}) {
      const LaunchOptions options{.distributed = true,
                                  .world_size = 2,
                                  .rank = 1,
                                  .nproc = 3,
                                  .dist_url = "tcp://node1:80",
                                  .launcher = launcher};
      const auto read = rank_in(with(*outer, values), options);
      CHECK(read.rank == 5);
      CHECK(read.world == 6);
      CHECK(read.local_rank == 2);
      CHECK(read.local_world == 3);
      CHECK(read.node == 1);
      CHECK(read.launcher == Launcher::spawn);
      CHECK(read.url == "tcp://node1:80");
      CHECK(read.store_is_there);
      CHECK(read.restart == 4);
    }
  }
  CHECK_FALSE(rank_in(with(values, {{"FLOWTRAIN_URL", "file:///shared/meet"}})).store_is_there);
  refuse(with(values, {{"FLOWTRAIN_URL", ""}}),
         "a rank of --distributed needs the environment variable FLOWTRAIN_URL, which is not set");
  refuse({{"FLOWTRAIN_SPAWNED", "1"}}, "a rank of --distributed needs the environment variable RANK, which is not set");
}

TEST_CASE("--launcher none ignores every launcher") {
  for (const auto* values : {&torchrun, &slurm, &mpi}) {
    CHECK(is_alone(*values, {.launcher = "none"}));
    const LaunchOptions options{.distributed = true, .world_size = 1, .nproc = 2, .launcher = "none"};
    CHECK(std::get<SpawnPlan>(place_in(*values, options)).processes == 2);
  }
}

TEST_CASE("--launcher must be a word that we know") {
  expect_error(ExitCode::usage, "--launcher pbs: no such launcher", [] { place_in({}, {.launcher = "pbs"}); });
}

}  // namespace flowtrain::launchers_test
