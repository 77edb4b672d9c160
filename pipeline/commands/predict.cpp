// flowtrain predict SNAPSHOT INPUT…

#include "pipeline/inference/predict/predict.h"

#include <cstdlib>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/commands/flags.h"
#include "pipeline/library/computing.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::commands {

namespace {

namespace fs = std::filesystem;

ChosenSnapshot find_snapshot(const fs::path& place, std::optional<std::uint64_t> iteration) {
  std::error_code ignored;
  if (!fs::exists(place, ignored))
    throw UserError(ExitCode::snapshot, place.string() + ": this snapshot or run does not exist",
                    "name the folder of a run, or of a snapshot: runs/NAME/snapshots/best");
  if (!fs::exists(place / "manifest.json", ignored)) {
    if (const auto run = as_run_folder(place)) return choose_snapshot(*run / "snapshots", {.iteration = iteration});
    throw UserError(ExitCode::snapshot, place.string() + ": this is neither a snapshot nor a run",
                    "name the folder of a run, or of a snapshot: runs/NAME/snapshots/best");
  }
  if (iteration)
    throw UserError(ExitCode::usage, "--iter: " + place.string() + " is already one snapshot",
                    "leave it out, or name the run's folder");
  return {place};
}

Config config_of(const fs::path& snapshot, const std::vector<std::string>& set, const std::string& workers,
                 const std::string& batch, const std::string& device) {
  StartOptions start{.config = snapshot / "config.toml"};
  for (auto& each : set) start.overrides.push_back(parse_set(each));
  for (auto& given : {Override{"loader.workers", workers, "--workers"},
                      {"val.batch", batch, "--batch"},
                      {"run.device", device, "--device"}})
    if (!given.value.empty()) start.overrides.push_back(given);
  return load_for_use(start);
}

void check_outputs(bool answers_requests, const std::string& csv, const std::string& jsonl) {
  if (!answers_requests) return;
  if (jsonl.empty())
    throw UserError(ExitCode::usage, "INPUT is required",
                    "name pictures or folders, or --watch FOLDER, or --jsonl to answer requests on standard input");
  if (!csv.empty())
    throw UserError(ExitCode::usage, "--csv: requests on standard input are answered only in JSON lines",
                    "leave it out, or name an INPUT");
}

}  // namespace

int predict(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Classifies or transcribes inputs with the net of a snapshot, or detects objects in them. Inputs are decoded\n"
      "and transformed as in validation. Only the snapshot's folder is needed, and files that its configuration\n"
      "names (a tokenizer, plugins). An INPUT is a picture, a recording, a folder (with all folders below it), a\n"
      "pattern, a .tar archive, an http(s) address, or - for a list of inputs on standard input; for a net of\n"
      "[[field]], a table (.jsonl, .csv), data as those it was trained on, or the file of its only part.\n"
      "Prints a table; --csv and --jsonl write lines for programs. Without INPUT, --jsonl answers requests: each line\n"
      "{\"file\": \"a.jpg\"}, or a row of a table, on standard input gets a line on standard output. Damaged inputs\n"
      "are named and left out; the exit code is then 3.",
      "flowtrain predict");
  std::string place;
  std::vector<std::string> inputs, set;
  std::uint64_t iteration = 0;
  std::string workers, batch, device, watch, csv, jsonl, pictures;
  PredictionLimits limits;
  bool logits = false, quiet = false;
  add_path(app, "SNAPSHOT", place, "a snapshot's folder, or a run's: its best snapshot, or the newest one")->required();
  add_path(app, "INPUT", inputs,
           "pictures, recordings or tables: files, folders, patterns, archives, addresses, or - for a list");
  auto* iter = app.add_option("--iter", iteration, "select the run's snapshot of this iteration");
  app.add_option("--top", limits.top, "list this many classes of each picture")
      ->capture_default_str()
      ->check(counts_from_one("classes"));
  app.add_option("--min-score", limits.least_score, "leave out boxes with a lower score")
      ->capture_default_str()
      ->check(within(0.0, 1.0));
  add_path(app, "--csv", csv, "write CSV to this file; - is standard output");
  add_path(app, "--pictures", pictures,
           "write the pictures that the net got, with boxes drawn, to this folder, as PNG");
  app.add_flag("--jsonl{-}", jsonl, "write a JSON object per line to standard output, or to a file with --jsonl=FILE");
  app.add_flag("--logits", logits, "add all logits of each picture to the JSON lines");
  add_path(app, "--watch", watch, "predict on pictures or recordings that appear in this folder, until Ctrl-C");
  app.add_option("--batch", batch, "set the pictures in a batch: val.batch");
  app.add_option("--workers", workers, "set the threads that decode: loader.workers");
  app.add_option("--device", device, "set run.device: auto, cpu, cuda or cuda:N");
  app.add_option("--set", set, "change a key of the snapshot's configuration: KEY=VALUE; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--quiet", quiet, "show only warnings and errors");
  if (!parse(app, arguments)) return 0;
  check_outputs(inputs.empty() && watch.empty(), csv, jsonl);
  set_console_level(quiet ? ConsoleLevel::quiet : ConsoleLevel::normal);
  const auto [snapshot, why] = find_snapshot(place, *iter ? std::optional(iteration) : std::nullopt);
  const Config config = config_of(snapshot, set, workers, batch, device);
  log_info(concat("snapshot ", fs::weakly_canonical(snapshot).string(), why.empty() ? "" : concat(": ", why)));
  limits.pictures = !pictures.empty();
  const PredictRequest request{.config = config,
                               .snapshot = snapshot,
                               .inputs = inputs,
                               .watch = watch,
                               .limits = limits,
                               .logits = logits,
                               .csv = csv,
                               .jsonl = jsonl,
                               .pictures = pictures,
                               .interrupt = &interrupt};
  // The net's threads that wait for each other leave the cores to those that decode: spinning, they take most of the
  // time of a small net. LibTorch's OpenMP reads this when it is loaded.
  ::setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  const ExitCode code = flowtrain::predict(request, computing_parts().make_learner);
  const auto signal = interrupt.requested();
  return code == ExitCode::ok && signal ? Interrupt::exit_code(*signal) : static_cast<int>(code);
}

}  // namespace flowtrain::commands
