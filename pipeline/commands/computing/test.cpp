// flowtrain test CONFIG

#include <algorithm>
#include <cstdio>

#include "pipeline/commands/computing/parts.h"
#include "pipeline/commands/flags.h"
#include "pipeline/detection.h"
#include "pipeline/evaluate.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/table_line.h"
#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/telemetry/metrics.h"
#include "sampling/error.h"
#include "stages/evaluation/metric_names.h"
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
    throw UserError(Exit::snapshot,
                    say("there is no run called '", loaded.name(), "' in ", loaded.table("run").text("dir")),
                    "train first, or name one: --snapshot PATH");
  const auto folder = *run / "snapshots";
  if (iteration) return find_iteration(folder, *iteration);
  if (fs::exists(folder / "best")) return folder / "best";
  if (auto newest = find_newest(folder).path) return *newest;
  throw UserError(Exit::snapshot, say(folder.string(), " holds no complete snapshot"));
}

// Where what a test writes lies: test/<snapshot> in the run's folder.
fs::path test_folder(const fs::path& snapshot) {
  const fs::path place = fs::canonical(snapshot);
  return place.parent_path().parent_path() / "test" / place.filename();
}

void log_classes(const Figures& figures, const std::string& group_by) {
  if (std::none_of(figures.begin(), figures.end(),
                   [](auto& figure) { return figure.first.starts_with(class_accuracy); }))
    return;
  log_info(std::string("accuracy  ") + (group_by.empty() || group_by == "label" ? "class" : group_by));
  for (auto& [name, value] : figures) {
    if (!name.starts_with(class_accuracy)) continue;
    std::string line;
    append_line(line, "%8s  ", format_loss(value).c_str());
    log_info(line + name.substr(class_accuracy.size()));
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

Figures measure(const Config& config, const fs::path& snapshot, std::size_t pictures) {
  if (!detects(config)) {
    const Evaluation evaluation = evaluate(config, snapshot, make_torch_learner);
    log_classes(evaluation.figures, config.table("val").text("group_by"));
    if (evaluation.confusion) report_confusion(*evaluation.confusion, test_folder(snapshot));
    return evaluation.figures;
  }
  const fs::path folder = test_folder(snapshot);
  const Figures figures = test_detection(config, snapshot, make_corner_detector, folder, pictures);
  log_info("results in " + folder.string());
  return figures;
}

}  // namespace

int test(const Arguments& arguments) {
  CLI::App app(
      "Measures a snapshot on the whole validation set and prints one JSON line: of CONFIG's newest run, its best\n"
      "snapshot unless --iter or --snapshot says otherwise. Of a detection net it writes results.json, as MS COCO\n"
      "has it, to test/ in the run's folder. A snapshot carries its own configuration: with\n"
      "--snapshot, CONFIG may be left out.",
      "flowtrain test");
  ConfigFlags flags(app, false);
  std::uint64_t iteration = 0;
  std::string path;
  std::size_t pictures = 0;
  auto* iter = app.add_option("--iter", iteration, "the snapshot of this iteration");
  app.add_option("--snapshot", path, "a snapshot's folder")->excludes(iter);
  app.add_option("--pictures", pictures, "cornernet nets: draw the boxes of the first N pictures");
  if (!parse(app, arguments)) return 0;

  StartOptions start = flags.start();
  if (start.config.empty()) {
    if (path.empty())
      throw UserError(Exit::usage, "CONFIG is required",
                      "name a configuration, a run's folder, or a snapshot: --snapshot PATH");
    start.config = fs::path(path) / "config.toml";
  }
  const Config config = load_for_use(start);
  config.check_trainable();
  const fs::path snapshot = !path.empty()
                                ? fs::path(path)
                                : find_snapshot(start.config, config, *iter ? std::optional(iteration) : std::nullopt);
  log_info("snapshot " + fs::weakly_canonical(snapshot).string());
  std::vector<MetricField> fields{{"snapshot", snapshot.string()}};
  for (auto& [name, value] : measure(config, snapshot, pictures)) fields.emplace_back(name, value);
  std::puts(metrics_line("test", fields).c_str());
  return 0;
}

}  // namespace flowtrain::commands::computing
