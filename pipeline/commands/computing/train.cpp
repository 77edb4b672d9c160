// What flowtrain train does once its command line is read, unless that asks for the data line alone.

#include <filesystem>
#include <functional>

#include "pipeline/commands/computing/parts.h"
#include "pipeline/commands/computing/ranks.h"
#include "pipeline/commands/launch_flags.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/telemetry/environment.h"
#include "pipeline/telemetry/interrupt.h"
#include "pipeline/telemetry/log.h"
#include "stages/torch/learner.h"

namespace flowtrain::commands::computing {

namespace {

// Calls `on_start` with the run's folder.
int train_here(const StartOptions& start, RunOptions options, Interrupt& interrupt,
               const std::function<void(const std::filesystem::path&)>& on_start = {}) {
  const Start ready = prepare_start(start, *options.group);
  if (on_start) on_start(ready.path);
  options.progress = progress_mode(ready.config.table("display").text("progress"));
  if (ready.folder) {
    set_log_file(ready.folder->path() / "train.log");
    write_file_atomically(ready.folder->path() / "env.json", environment_json({{"torch", torch_version()}}) + "\n");
    log_info("run folder " + ready.folder->path().string());
  } else {
    set_console_level(ConsoleLevel::quiet);
    options.progress = ProgressMode::off;
  }
  return run_training(ready, options, make_torch_learner, interrupt);
}

// As one rank of several.
int train_as(const Place& place, StartOptions start, RunOptions options, Interrupt& interrupt) {
  return run_rank(place, load_for_use(start), [&](Membership& membership, std::filesystem::path& records) {
    options.group = &membership.group();
    options.processes_here = static_cast<unsigned>(place.local_world);
    options.local_rank = static_cast<unsigned>(place.local_rank);
    // Started again by its launcher, the job goes on with what it had, whatever the command line said about its first
    // start.
    if (const auto earlier = membership.remembered_folder(); place.restart > 0 && !earlier.empty()) {
      start.run_dir = earlier;
      start.resume = "auto";
      start.iteration.reset();
    }
    return train_here(start, options, interrupt, [&](const std::filesystem::path& chosen) {
      records = chosen;
      if (place.rank == 0) membership.remember_folder(chosen);
    });
  });
}

}  // namespace

int train(const TrainRequest& request, Interrupt& interrupt) {
  auto& [start, options, launch, sets_max_restarts, words] = request;
  if (options.mode != TrainMode::full) {
    const Config config = load_for_use(start);
    config.check_trainable();
    RunOptions shown = options;
    shown.progress = progress_mode(config.table("display").text("progress"));
    return run_without_traces(config, shown, make_torch_learner, interrupt);
  }
  Launch chosen = find_launch(launch, [&start = start] { return load_for_use(start); });
  if (auto* plan = std::get_if<SpawnPlan>(&chosen)) {
    const Config config = load_for_use(start);
    if (!sets_max_restarts) plan->max_restarts = static_cast<int>(config.table("dist").integer("max_restarts"));
    return start_ranks(*plan, config, "train", words);
  }
  if (auto* place = std::get_if<Place>(&chosen)) return train_as(*place, start, options, interrupt);
  return train_here(start, options, interrupt);
}

}  // namespace flowtrain::commands::computing
