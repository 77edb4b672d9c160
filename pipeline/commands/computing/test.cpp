// flowtrain test CONFIG

#include <cstdio>

#include "pipeline/commands/computing/parts.h"
#include "pipeline/commands/flags.h"
#include "pipeline/detection.h"
#include "pipeline/evaluate.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/telemetry/metrics.h"
#include "stages/torch/detection/corner_detector.h"
#include "stages/torch/learner.h"

namespace flowtrain::commands::computing {

namespace {

namespace fs = std::filesystem;

// The snapshot that is meant: of the run that CONFIG is, or else of the newest one of its name.
fs::path find_snapshot(const std::string& config, const Config& loaded, std::optional<std::uint64_t> iteration) {
  auto run = as_run_folder(config);
  if (!run) run = newest_run(loaded.table("run").text("dir"), loaded.name());
  if (!run)
    throw UserError(Exit::snapshot, say("there is no run called '", loaded.name(), "' in ", loaded.table("run").text("dir")),
                    "train first, or name one: --snapshot PATH");
  const auto folder = *run / "snapshots";
  if (iteration) return find_iteration(folder, *iteration);
  if (fs::exists(folder / "best")) return folder / "best";
  if (auto newest = find_newest(folder).path) return *newest;
  throw UserError(Exit::snapshot, say(folder.string(), " holds no complete snapshot"));
}

Figures measure(const Config& config, const fs::path& snapshot, std::size_t pictures) {
  if (!detects(config)) return evaluate(config, snapshot, make_torch_learner);
  const fs::path place = fs::canonical(snapshot);
  const fs::path folder = place.parent_path().parent_path() / "test" / place.filename();
  const Figures figures = test_detection(config, snapshot, make_corner_detector, folder, pictures);
  log_info("results in " + folder.string());
  return figures;
}

}  // namespace

int test(const Arguments& arguments) {
  CLI::App app("Measures a snapshot on the whole validation set and prints one JSON line: of CONFIG's newest run, its best\n"
               "snapshot unless --iter or --snapshot says otherwise. Of a detection net it writes results.json, as MS COCO\n"
               "has it, to test/ in the run's folder. A snapshot carries its own configuration: with\n"
               "--snapshot, CONFIG may be that snapshot's config.toml.",
               "flowtrain test");
  ConfigFlags flags(app);
  std::uint64_t iteration = 0;
  std::string path;
  std::size_t pictures = 0;
  auto* iter = app.add_option("--iter", iteration, "the snapshot of this iteration");
  app.add_option("--snapshot", path, "a snapshot's folder")->excludes(iter);
  app.add_option("--pictures", pictures, "cornernet nets: draw the boxes of the first N pictures");
  if (!parse(app, arguments)) return 0;

  const StartOptions start = flags.start();
  const Config config = load_for_use(start);
  config.check_trainable();
  const fs::path snapshot = !path.empty() ? fs::path(path)
                                          : find_snapshot(start.config, config, *iter ? std::optional(iteration) : std::nullopt);
  log_info("snapshot " + fs::weakly_canonical(snapshot).string());
  std::vector<MetricField> fields{{"snapshot", snapshot.string()}};
  for (auto& [name, value] : measure(config, snapshot, pictures)) fields.emplace_back(name, value);
  std::puts(metrics_line("test", fields).c_str());
  return 0;
}

}  // namespace flowtrain::commands::computing
