// flowtrain test CONFIG

#include <algorithm>
#include <cstdio>
#include <exception>

#include "pipeline/commands/computing/parts.h"
#include "pipeline/commands/flags.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/snapshot/choice.h"
#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/telemetry/metrics.h"
#include "pipeline/telemetry/table_line.h"
#include "pipeline/tools/evaluate.h"
#include "pipeline/validation/detection.h"
#include "sampling/core/error.h"
#include "sampling/dataset.h"
#include "stages/evaluation/metric_names.h"
#include "stages/torch/detection/corner_detector.h"
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
    throw UserError(Exit::snapshot,
                    say("there is no run called '", loaded.name(), "' in ", loaded.table("run").text("dir")),
                    "train first, or name one: --snapshot PATH");
  return choose_snapshot(*run / "snapshots", wish);
}

// Where what a test writes lies: test/<snapshot> in the run's folder, and below it <set> of a [[val.set]].
fs::path test_folder(const fs::path& snapshot, const std::string& set) {
  const fs::path place = fs::canonical(snapshot);
  const fs::path folder = place.parent_path().parent_path() / "test" / place.filename();
  return set.empty() ? folder : folder / set;
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

Figures measure(const Config& config, const fs::path& snapshot, const std::string& set, std::size_t pictures) {
  if (!detects(config)) {
    const Evaluation evaluation = evaluate(config, snapshot, make_torch_learner);
    log_classes(evaluation.figures, config.table("val").text("group_by"));
    if (evaluation.confusion) report_confusion(*evaluation.confusion, test_folder(snapshot, set));
    return evaluation.figures;
  }
  const fs::path folder = test_folder(snapshot, set);
  const Figures figures = test_detection(config, snapshot, make_corner_detector, folder, pictures);
  log_info("results in " + folder.string());
  return figures;
}

// A JSON line on standard output. `set`: of a [[val.set]], empty: [data.val]'s.
void print_figures(const std::string& set, const fs::path& snapshot, const Figures& figures) {
  std::vector<MetricField> fields{{"snapshot", snapshot.string()}};
  if (!set.empty()) fields.emplace_back("set", set);
  for (auto& [name, value] : figures) fields.emplace_back(name, value);
  std::puts(metrics_line("test", fields).c_str());
}

// On [data.val], then on each [[val.set]]. An empty set is left out, as a run does, unless all are.
void measure_all(const Config& config, const fs::path& snapshot, std::size_t pictures) {
  const auto& sets = config.list("val.set");
  std::exception_ptr left_out;
  bool any = false;
  const auto measure_one = [&](const Config& of, const std::string& set, const std::string& shown) {
    try {
      print_figures(set, snapshot, measure(of, snapshot, set, pictures));
      any = true;
    } catch (const EmptyDataset& empty) {
      left_out = std::current_exception();
      if (!sets.empty()) log_warn(say(shown, " is left out: ", empty.what()));
    }
  };
  measure_one(config, "", "[data.val]");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::string& set = sets[i].text("name");
    log_info("[[val.set]] " + set);
    measure_one(config.with_validation_set(i), set, "[[val.set]] " + set);
  }
  if (!any) std::rethrow_exception(left_out);
}

}  // namespace

int test(const Arguments& arguments) {
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
      throw UserError(Exit::usage, "CONFIG is required",
                      "name a configuration, a run's folder, or a snapshot: --snapshot PATH");
    start.config = fs::path(path) / "config.toml";
  }
  const Config config = load_for_use(start);
  config.check_trainable();
  const auto [snapshot, why] =
      takes_own_config ? ChosenSnapshot{path}
                       : find_snapshot(start.config, config, {*iter ? std::optional(iteration) : std::nullopt, path});
  log_info(say("snapshot ", fs::weakly_canonical(snapshot).string(), why.empty() ? "" : say(": ", why)));
  measure_all(config, snapshot, pictures);
  return 0;
}

}  // namespace flowtrain::commands::computing
