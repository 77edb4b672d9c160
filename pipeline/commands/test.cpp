// flowtrain test CONFIG

#include "pipeline/commands/computing/api.h"
#include "pipeline/commands/flags.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/error.h"

namespace flowtrain::commands {

namespace {

namespace fs = std::filesystem;

// The snapshot that is meant: of the run that CONFIG is, or else of the newest one of its name.
ChosenSnapshot find_snapshot(const std::string& config, const Config& loaded, const SnapshotWish& wish) {
  auto run = as_run_folder(config);
  if (!run) run = newest_run(loaded.table("run").text("dir"), loaded.name());
  if (!run && !wish.snapshot.empty()) return {wish.snapshot};
  if (!run)
    throw UserError(ExitCode::snapshot,
                    concat("there is no run called '", loaded.name(), "' in ", loaded.table("run").text("dir")),
                    "train first, or name one: --snapshot PATH");
  return choose_snapshot(*run / "snapshots", wish);
}

}  // namespace

int test(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Measures a snapshot on the whole validation set, and on each [[val.set]], and prints one JSON line for each.\n"
      "It is one of CONFIG's newest run: the best one, or the newest where none is the best, unless --iter or\n"
      "--snapshot says otherwise. Of a detection net it writes results.json, as MS COCO has it, to test/ in the run's\n"
      "folder. A snapshot carries its own configuration: with --snapshot, CONFIG may be left out.",
      "flowtrain test");
  ConfigFlags flags(app, false);
  std::uint64_t iteration = 0;
  std::string path;
  std::size_t pictures = 0;
  auto* iter = app.add_option("--iter", iteration, "the snapshot of this iteration");
  add_path(app, "--snapshot", path, "a snapshot's folder, or best or latest of the run")->excludes(iter);
  app.add_option("--pictures", pictures, "cornernet nets: draw the boxes of the first N pictures");
  if (!parse(app, arguments)) return 0;

  StartOptions start = flags.start();
  const bool takes_own_config = start.config.empty();
  if (takes_own_config) {
    if (path.empty())
      throw UserError(ExitCode::usage, "CONFIG is required",
                      "name a configuration, a run's folder, or a snapshot: --snapshot PATH");
    start.config = fs::path(path) / "config.toml";
  }
  const Config config = load_for_use(start);
  config.check_trainable();
  const auto [snapshot, why] =
      takes_own_config ? ChosenSnapshot{path}
                       : find_snapshot(start.config, config, {*iter ? std::optional(iteration) : std::nullopt, path});
  log_info(concat("snapshot ", fs::weakly_canonical(snapshot).string(), why.empty() ? "" : concat(": ", why)));
  return computing_parts().test({config, snapshot, pictures});
}

}  // namespace flowtrain::commands
