// The part of `flowtrain train` that computes.

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/environment.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/assembly.h"
#include "pipeline/library/computing/commands.h"
#include "pipeline/library/computing/ranks.h"
#include "pipeline/runs/report_page/report_branch.h"
#include "pipeline/tools/bench/batch_search.h"
#include "sampling/core/error.h"
#include "sampling/core/secrets.h"
#include "stages/device/device.h"
#include "stages/device/gpu_facts.h"
#include "stages/flight/flight.h"
#include "stages/flight/recorder.h"
#include "stages/torch/learner/learner.h"

namespace flowtrain::computing {

namespace {

FindRows fitting(const RunOptions& options) {
  return [&](const Config& config) { return fit_batch(config, options, make_torch_learner); };
}

// Returns the environment of a run. It loads the GPU's libraries for their versions; if that fails, the run reports it.
std::string environment_of(const Config& config, const RunOptions& options, const std::filesystem::path& run) {
  const std::string device = choose_device(config, options.local_rank, options.processes_here);
  try {
    if (device != "cpu") make_cuda_device(std::stoi(device.substr(device.find(':') + 1)), 1);
  } catch (const UserError&) {
  }
  return environment_json(gpu_facts(),
                          {{"torch", torch_version()}, {"device", device}, {start_folder_key, start_folder(run)}});
}

// Opens the log of a rank. Rank 0's is the run's; the others' are beside it if this machine sees the folder.
void open_log(const std::filesystem::path& run, int rank) {
  if (rank == 0) return set_log_file(run / "train.log");
  std::error_code error;
  if (!std::filesystem::is_directory(run, error)) return;
  std::filesystem::create_directory(run / "logs", error);
  try {
    set_log_file(run / "logs" / concat("rank-", rank, ".log"));
  } catch (const UserError& unwritable) {
    log_warn(unwritable.what());
  }
}

// Opens the flight record in the run's folder, if this machine sees it; it is optional.
std::unique_ptr<FlightRecorder> record_flight(const std::filesystem::path& run, const Group& group) {
  std::error_code error;
  if (!std::filesystem::is_directory(run, error)) return {};
  try {
    return std::make_unique<FlightRecorder>(run / "flight", group.rank(), group.size());
  } catch (const UserError& unwritable) {
    log_warn(concat(unwritable.what(), "; the run continues"));
    return {};
  }
}

// Throws UserError(usage) if ranks differ in a flag that decides what they do together.
void compare_flags(const RunOptions& options) {
  const std::array<std::pair<const char*, bool>, 6> own{{{"--initialize", options.initialize},
                                                         {"--profile", options.profile},
                                                         {"--dry-run", options.dry_run},
                                                         {"--fast-dev-run", options.fast_dev_run},
                                                         {"--no-optim", options.mode == TrainMode::forward_only},
                                                         {"--no-optim=backward", options.mode == TrainMode::no_step}}};
  std::array<double, own.size()> sums{};
  std::ranges::transform(own, sums.begin(), [](auto& flag) { return flag.second ? 1 : 0; });
  options.group->sum("the comparison of flags", sums);
  for (std::size_t i = 0; i < own.size(); ++i)
    if (sums[i] != (own[i].second ? options.group->size() : 0))
      throw UserError(ExitCode::usage, concat(own[i].first, " is given to some ranks only"),
                      "start all ranks with the same file and flags");
}

// Trains without a run folder.
int try_here(const StartOptions& start, RunOptions options, Interrupt& interrupt) {
  const Start ready = prepare_start(start, *options.group, options.dry_run ? FindRows() : fitting(options), &interrupt);
  const bool leads = options.group->leads();
  options.progress = leads ? progress_mode(ready.config.table("display").text("progress")) : ProgressMode::off;
  return run_without_traces(ready.config, options, make_torch_learner, interrupt);
}

// Trains in a run folder, and calls `on_start` with its path.
int train_here(const StartOptions& start, RunOptions options, Interrupt& interrupt,
               const std::function<void(const std::filesystem::path&)>& on_start) {
  compare_flags(options);
  if (start.leaves_nothing) return try_here(start, std::move(options), interrupt);
  const Start ready = prepare_start(start, *options.group, fitting(options), &interrupt);
  if (on_start) on_start(ready.path);
  options.progress = progress_mode(ready.config.table("display").text("progress"));
  std::unique_ptr<FlightRecorder> flight;
  {
    const Interrupt::Deferral whole(&interrupt);
    open_log(ready.path, options.group->rank());
    flight = record_flight(ready.path, *options.group);
  }
  try {
    std::array<double, 1> opened{1};
    // A start that fails from here on leaves no folder: no rank writes to it any more.
    options.group->sum("the opening of logs", opened);
    if (ready.folder) {
      const std::string environment = environment_of(ready.config, options, ready.folder->path()) + "\n";
      const Interrupt::Deferral whole(&interrupt);
      write_file_atomically(ready.folder->path() / "env.json", environment);
      log_info("run folder " + ready.folder->path().string());
    } else {
      options.progress = ProgressMode::off;
    }
    options.make_page = [](const std::filesystem::path& folder) { return std::make_unique<ReportBranch>(folder); };
    return run_training(ready, options, make_torch_learner, interrupt);
  } catch (const UserError& error) {
    flight_failed(without_secrets(first_line(error.what())), static_cast<int>(error.code()));
    throw;
  } catch (const std::exception& error) {
    flight_failed(without_secrets(first_line(error.what())), static_cast<int>(ExitCode::bug));
    throw;
  }
}

// Returns what distinguishes the run from a later one in the same folder: its lock and the lock's writer.
std::string identity_of(const std::filesystem::path& run) {
  struct stat status {};
  const auto lock = run / "run.lock";
  std::string writer;
  std::ifstream(lock) >> writer;
  return ::stat(lock.c_str(), &status) == 0 ? concat(status.st_ino, ":", writer) : "";
}

// Trains as one rank of several.
int train_as(const RankInfo& place, StartOptions start, RunOptions options, Interrupt& interrupt,
             const std::function<void(const std::filesystem::path&)>& on_start) {
  return run_rank(place, load_for_use(start), [&](GroupSession& membership, std::unique_ptr<HeldFolder>& records) {
    options.group = &membership.group();
    options.processes_here = static_cast<unsigned>(place.local_world);
    options.local_rank = static_cast<unsigned>(place.local_rank);
    // A job that its launcher starts again continues its run, whatever the command line said at its first start.
    if (const auto earlier = membership.remembered_run(); place.restart > 0 && !earlier.folder.empty()) {
      if (place.rank == 0 && identity_of(earlier.folder) != earlier.identity)
        throw FolderLost(concat("the run's folder '", earlier.folder.string(),
                                "' was removed, renamed or replaced before its ranks were started again"),
                         "start the run again, or go on in its folder under the new name: flowtrain FOLDER");
      start.run_dir = earlier.folder;
      start.resume = "auto";
      start.iteration.reset();
    }
    return train_here(start, options, interrupt, [&](const std::filesystem::path& chosen) {
      std::error_code error;  // another machine may not see the folder
      if (std::filesystem::is_directory(chosen, error)) records = std::make_unique<HeldFolder>(chosen);
      if (place.rank == 0) membership.remember_run({chosen, identity_of(chosen)});
      if (on_start) on_start(chosen);
    });
  });
}

}  // namespace

int train(const TrainRequest& request, Interrupt& interrupt) {
  auto& [start, options, launch, sets_max_restarts, words, on_start] = request;
  if (auto* spawn = std::get_if<SpawnPlan>(&launch)) {
    SpawnPlan plan = *spawn;
    const Config config = load_for_use(start);
    if (start.leaves_nothing)
      plan.max_restarts = 0;
    else if (!sets_max_restarts)
      plan.max_restarts = static_cast<int>(config.table("dist").integer("max_restarts"));
    return start_ranks(plan, config, "train", words);
  }
  if (auto* place = std::get_if<RankInfo>(&launch)) return train_as(*place, start, options, interrupt, on_start);
  return train_here(start, options, interrupt, on_start);
}

}  // namespace flowtrain::computing
