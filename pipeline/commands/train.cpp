// flowtrain [train] CONFIG

#include "pipeline/base/values/periods.h"
#include "pipeline/commands/flags.h"
#include "pipeline/commands/launch_flags.h"
#include "pipeline/library/computing.h"
#include "sampling/core/error.h"

namespace flowtrain::commands {

namespace {

TrainMode train_mode(const std::string& no_optim) {
  if (no_optim.empty()) return TrainMode::full;
  if (no_optim == "backward") return TrainMode::no_step;
  if (no_optim == "forward") return TrainMode::forward_only;
  throw UserError(ExitCode::usage, "--no-optim=" + no_optim + ": expected --no-optim or --no-optim=backward");
}

// Sets the keys for a few iterations of everything.
void shorten(StartOptions& start) {
  const char* flag = "--fast-dev-run";
  const std::string iterations = "3";
  if (!period(load_for_use(start).val().every).off())
    for (auto& [key, value] : {std::pair{"val.every", iterations}, {"val.batches", "1"}})
      start.overrides.push_back({key, value, flag});
  for (auto& [key, value] :
       {std::pair{"run.max_iter", iterations}, {"display.every", "1"}, {"early_stop.patience", "0"}})
    start.overrides.push_back({key, value, flag});
}

// Sets the keys for training on the same few samples, which shows whether the net can fit them.
void overfit(StartOptions& start, std::uint64_t samples) {
  const char* flag = "--overfit";
  for (auto& [key, value] : {std::pair{"order.name", std::string("sequential")},
                             {"order.first", std::to_string(samples)},
                             {"val.every", "0"},
                             {"early_stop.patience", "0"}})
    start.overrides.push_back({key, value, flag});
}

// Runs the loader without a net, which needs no LibTorch.
int run_loader(const StartOptions& start, RunOptions options, Interrupt& interrupt) {
  const Config config = load_for_use(start);
  options.progress = progress_mode(config.table("display").text("progress"));
  return run_without_traces(config, options, {}, interrupt);
}

}  // namespace

int train(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Trains a net as a configuration says. The run's folder is runs/<name>; an earlier run of that name is kept.",
      "flowtrain train");
  ConfigFlags flags(app);
  RunOptions options;
  std::uint64_t iteration = 0;
  std::string resume, run_dir, no_optim, backend;
  bool accept_changes = false;
  auto* iter = app.add_option("--iter", iteration, "continue from the snapshot of this iteration");
  add_path(app, "--resume", resume,
           "continue the newest run of this name (auto) or the run or snapshot in this folder; none starts anew")
      ->excludes(iter);
  auto* from = app.get_option("--resume");
  auto* folder = add_path(app, "--run-dir", run_dir, "write the run to this folder, instead of one under run.dir");
  app.add_flag("--accept-changes", accept_changes, "continue although keys changed that affect the results");
  auto* initialize =
      app.add_flag("--initialize", options.initialize, "save the initial parameters as iteration 0, and end");
  app.add_flag("--profile", options.profile,
               "report at the end where the time went, by phase, operation and layer; write trace.json");
  auto* dry = app.add_flag("--dry-run", options.dry_run, "run the loader only; write no files");
  auto* fast =
      app.add_flag("--fast-dev-run", options.fast_dev_run,
                   "run three iterations and a batch of validation, to check that all parts work; write no files");
  std::uint64_t overfit_samples = 0;
  app.add_option("--overfit", overfit_samples, "train on the first N samples only, in their order, without validation")
      ->check(counts_from_one("samples"));
  auto* no_steps = app.add_flag("--no-optim{forward}", no_optim,
                                "run data, forward and loss only (=backward: backward, too); write no files");
  for (auto* trial : {dry, fast, no_steps})  // they have no run folder
    for (auto* other : {iter, from, folder, initialize}) trial->excludes(other);
  dry->excludes(fast)->excludes(no_steps);
  LaunchOptions launch;
  add_launch_flags(app, launch);
  app.add_option("--dist-backend", backend, "set dist.backend: auto, gloo or nccl");
  auto* max_restarts = app.add_option("--max-restarts", launch.max_restarts,
                                      "restart from the newest snapshot up to this many times when a process dies");
  if (!parse(app, arguments)) return 0;

  StartOptions start = flags.start();
  start.resume = resume;
  if (*iter) start.iteration = iteration;
  start.accept_changes = accept_changes;
  if (!run_dir.empty()) start.run_dir = run_dir;
  if (!backend.empty()) start.overrides.push_back({"dist.backend", backend, "--dist-backend"});
  if (overfit_samples > 0) overfit(start, overfit_samples);
  if (*fast) shorten(start);
  options.mode = train_mode(no_optim);

  start.leaves_nothing = options.dry_run || options.mode != TrainMode::full || options.fast_dev_run;
  const Launch chosen = find_launch(launch, [&start] { return load_for_use(start); });
  if (options.dry_run && std::holds_alternative<SingleProcess>(chosen)) return run_loader(start, options, interrupt);
  TrainRequest request{start, options, chosen};
  request.sets_max_restarts = max_restarts->count() > 0;
  request.words = arguments;
  return computing_parts().train(request, interrupt);
}

}  // namespace flowtrain::commands
