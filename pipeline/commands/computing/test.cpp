// flowtrain test CONFIG

#include <algorithm>
#include <cstdio>

#include "pipeline/commands/computing/commands.h"
#include "pipeline/commands/flags.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/telemetry/metrics.h"
#include "pipeline/tools/evaluate.h"
#include "sampling/core/error.h"
#include "stages/evaluation/metric_names.h"
#include "stages/torch/learner/learner.h"

namespace flowtrain::commands::computing {

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

void log_classes(const Scalars& scalars, const std::string& group_by) {
  if (std::none_of(scalars.begin(), scalars.end(),
                   [](auto& scalar) { return scalar.first.starts_with(class_accuracy); }))
    return;
  log_info(std::string("accuracy  ") + (group_by.empty() || group_by == "label" ? "class" : group_by));
  for (auto& [name, value] : scalars) {
    if (!name.starts_with(class_accuracy)) continue;
    log_info(printed("%8s  ", format_loss(value).c_str()) + name.substr(class_accuracy.size()));
  }
}

void report_confusion(const ClassTable& confusion, const fs::path& folder) {
  constexpr std::size_t most_shown = 20;
  make_folders(folder);
  write_file_atomically(folder / "confusion.csv", to_csv(confusion));
  if (confusion.classes.size() > most_shown)
    return log_info("what was taken for what: " + (folder / "confusion.csv").string());
  log_info("what was taken for what: a row for each label, a column for each prediction");
  for (auto& line : to_lines(confusion)) log_info(line);
}

// A JSON line on standard output, and what is said beside it.
void report(const Evaluation& measured, const fs::path& snapshot, const std::string& group_by) {
  log_classes(measured.scalars, group_by);
  if (measured.confusion) report_confusion(*measured.confusion, measured.folder);
  if (measured.detects) log_info("results in " + measured.folder.string());
  JsonObject fields{{"snapshot", snapshot.string()}};
  if (!measured.set.empty()) fields["set"] = measured.set;
  for (auto& [name, value] : measured.scalars) fields[name] = value;
  std::puts(json_line(metrics_event("test", fields)).c_str());
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
  const std::string& group_by = config.table("val").text("group_by");
  evaluate(config, snapshot, pictures, make_torch_learner,
           [&, &snapshot = snapshot](const Evaluation& measured) { report(measured, snapshot, group_by); });
  return 0;
}

}  // namespace flowtrain::commands::computing
