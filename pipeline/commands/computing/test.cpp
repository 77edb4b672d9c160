// What flowtrain test does once its command line is read.

#include <algorithm>
#include <cstdio>

#include "pipeline/commands/computing/commands.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/telemetry/metrics.h"
#include "pipeline/tools/evaluate.h"
#include "stages/evaluation/metric_names.h"
#include "stages/torch/learner/learner.h"

namespace flowtrain::commands::computing {

namespace {

namespace fs = std::filesystem;

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

int test(const TestRequest& request) {
  const std::string& group_by = request.config.table("val").text("group_by");
  evaluate(request.config, request.snapshot, request.pictures, make_torch_learner,
           [&](const Evaluation& measured) { report(measured, request.snapshot, group_by); });
  return 0;
}

}  // namespace flowtrain::commands::computing
