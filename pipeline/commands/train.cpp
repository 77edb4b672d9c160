// flowtrain [train] CONFIG

#include "pipeline/commands/computing/door.h"
#include "pipeline/commands/flags.h"
#include "pipeline/commands/launch_flags.h"
#include "pipeline/telemetry/interrupt.h"

namespace flowtrain::commands {

namespace {

TrainMode train_mode(const std::string& no_optim) {
  if (no_optim.empty()) return TrainMode::full;
  if (no_optim == "backward") return TrainMode::no_step;
  if (no_optim == "forward") return TrainMode::forward_only;
  throw UserError(Exit::usage, "--no-optim=" + no_optim + ": expected --no-optim or --no-optim=backward");
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

  if ((options.dry_run || options.mode != TrainMode::full) && launch.distributed)
    throw UserError(Exit::usage, "--dry-run and --no-optim run in one process", "leave out --distributed");
  if (options.dry_run) {
    const Config config = load_for_use(start);
    options.progress = progress_mode(config.table("display").text("progress"));
    return run_without_traces(config, options, {}, interrupt);
  }
  return computing_parts().train({start, options, launch, max_restarts->count() > 0, arguments}, interrupt);
}

}  // namespace flowtrain::commands
