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

// A few iterations of everything, however long the run is to be.
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

// The same few samples over and over, to see whether the net can learn them by heart.
void overfit(StartOptions& start, std::uint64_t samples) {
  const char* flag = "--overfit";
  for (auto& [key, value] : {std::pair{"order.name", std::string("sequential")},
                             {"order.first", std::to_string(samples)},
                             {"val.every", "0"},
                             {"early_stop.patience", "0"}})
    start.overrides.push_back({key, value, flag});
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
  auto* iter = app.add_option("--iter", iteration, "go on from the snapshot of this iteration");
  add_path(app, "--resume", resume, "auto: go on in the newest run of this name; none; or a run's or snapshot's folder")
      ->excludes(iter);
  auto* from = app.get_option("--resume");
  auto* folder = add_path(app, "--run-dir", run_dir, "the run's folder, instead of a name under run.dir");
  app.add_flag("--accept-changes", accept_changes,
               "go on although the configuration changed in what a result depends on");
  auto* initialize =
      app.add_flag("--initialize", options.initialize, "save the initial parameters as iteration 0, and end");
  app.add_flag("--profile", options.profile,
               "tell at the end where the time went: phases, operations, layers; trace.json in the run's folder");
  auto* dry = app.add_flag("--dry-run", options.dry_run, "run the loader only; leaves nothing behind");
  auto* fast =
      app.add_flag("--fast-dev-run", options.fast_dev_run,
                   "three iterations and a batch of validation, to see that all parts work; leaves nothing behind");
  std::uint64_t overfit_samples = 0;
  app.add_option("--overfit", overfit_samples, "train on the first N samples only, in their order, without validation")
      ->check(counts_from_one("samples"));
  auto* no_steps = app.add_flag("--no-optim{forward}", no_optim,
                                "data, forward and loss; =backward adds backward; leaves nothing behind");
  for (auto* trial : {dry, fast, no_steps})  // none of which has a run's folder
    for (auto* other : {iter, from, folder, initialize}) trial->excludes(other);
  dry->excludes(fast)->excludes(no_steps);
  LaunchOptions launch;
  add_launch_flags(app, launch);
  app.add_option("--dist-backend", backend, "auto, gloo or nccl: dist.backend");
  auto* max_restarts = app.add_option("--max-restarts", launch.max_restarts,
                                      "starts again from the newest snapshot where a process dies");
  if (!parse(app, arguments)) return 0;

  StartOptions start = flags.start();
  if (*iter) start.iteration = iteration;
  start.resume = resume;
  start.accept_changes = accept_changes;
  if (!run_dir.empty()) start.run_dir = run_dir;
  if (!backend.empty()) start.overrides.push_back({"dist.backend", backend, "--dist-backend"});
  if (overfit_samples > 0) overfit(start, overfit_samples);
  if (*fast) shorten(start);
  options.mode = train_mode(no_optim);

  start.leaves_nothing = options.dry_run || options.mode != TrainMode::full || options.fast_dev_run;
  const Launch chosen = find_launch(launch, [&start] { return load_for_use(start); });
  if (options.dry_run && std::holds_alternative<SingleProcess>(chosen)) {  // which needs no LibTorch
    const Config config = load_for_use(start);
    options.progress = progress_mode(config.table("display").text("progress"));
    return run_without_traces(config, options, {}, interrupt);
  }
  TrainRequest request{start, options, chosen};
  request.sets_max_restarts = max_restarts->count() > 0;
  request.words = arguments;
  return computing_parts().train(request, interrupt);
}

}  // namespace flowtrain::commands
