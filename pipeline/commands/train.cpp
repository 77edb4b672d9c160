// flowtrain [train] CONFIG

#include <filesystem>
#include <functional>

#include "pipeline/commands/flags.h"
#include "pipeline/commands/ranks.h"
#include "pipeline/run.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/telemetry/environment.h"
#include "pipeline/telemetry/interrupt.h"
#include "pipeline/telemetry/log.h"
#include "stages/torch/learner.h"

namespace flowtrain::commands {

namespace {

TrainMode train_mode(const std::string& no_optim) {
  if (no_optim.empty()) return TrainMode::full;
  if (no_optim == "backward") return TrainMode::no_step;
  if (no_optim == "forward") return TrainMode::forward_only;
  throw UserError(Exit::usage, "--no-optim=" + no_optim + ": expected --no-optim or --no-optim=backward");
}

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

int train(const Arguments& arguments) {
  CLI::App app("Trains a net as a configuration says. The run's folder is runs/<name>; an earlier run of that name is kept.",
               "flowtrain train");
  ConfigFlags flags(app);
  RunOptions options;
  std::uint64_t iteration = 0;
  std::string resume, run_dir, no_optim, backend;
  bool accept_changes = false;
  auto* iter = app.add_option("--iter", iteration, "go on from the snapshot of this iteration");
  app.add_option("--resume", resume, "auto: go on in the newest run of this name; none; or a run's or snapshot's folder")
      ->excludes(iter);
  app.add_option("--run-dir", run_dir, "the run's folder, instead of a name under run.dir");
  app.add_flag("--accept-changes", accept_changes, "go on although the configuration changed in what a result depends on");
  app.add_flag("--initialize", options.initialize, "save the initial parameters as iteration 0, and end");
  app.add_flag("--dry-run", options.dry_run, "run the data line only; leaves nothing behind");
  app.add_flag("--no-optim{forward}", no_optim, "data, forward and loss; =backward adds backward; leaves nothing behind");
  LaunchOptions launch;
  add_launch_flags(app, launch);
  app.add_option("--dist-backend", backend, "auto, gloo or nccl: dist.backend");
  auto* max_restarts = app.add_option("--max-restarts", launch.max_restarts, "starts again from the newest snapshot where a process dies");
  if (!parse(app, arguments)) return 0;

  // Never destroyed: a signal that arrives while the process ends does not change how it ends.
  static Interrupt& interrupt = *new Interrupt;

  StartOptions start = flags.start();
  if (*iter) start.iteration = iteration;
  start.resume = resume;
  start.accept_changes = accept_changes;
  if (!run_dir.empty()) start.run_dir = run_dir;
  if (!backend.empty()) start.overrides.push_back({"dist.backend", backend, "--dist-backend"});
  options.mode = train_mode(no_optim);

  if (options.dry_run || options.mode != TrainMode::full) {
    if (launch.distributed)
      throw UserError(Exit::usage, "--dry-run and --no-optim run in one process", "leave out --distributed");
    const Config config = load_for_use(start);
    if (!options.dry_run) config.check_trainable();
    options.progress = progress_mode(config.table("display").text("progress"));
    return run_without_traces(config, options, make_torch_learner, interrupt);
  }
  Launch chosen = find_launch(launch, [&] { return load_for_use(start); });
  if (auto* plan = std::get_if<SpawnPlan>(&chosen)) {
    const Config config = load_for_use(start);
    if (!*max_restarts) plan->max_restarts = static_cast<int>(config.table("dist").integer("max_restarts"));
    return start_ranks(*plan, config, "train", arguments);
  }
  if (auto* place = std::get_if<Place>(&chosen)) return train_as(*place, start, options, interrupt);
  return train_here(start, options, interrupt);
}

}  // namespace flowtrain::commands
