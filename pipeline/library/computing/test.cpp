// The part of `flowtrain test` that computes.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/telemetry/metrics.h"
#include "pipeline/engine/session/start.h"
#include "pipeline/inference/evaluation/summary.h"
#include "pipeline/inference/evaluation/test_sets.h"
#include "pipeline/library/computing/commands.h"
#include "pipeline/library/computing/ranks.h"
#include "sampling/core/text.h"
#include "stages/evaluation/metric_names.h"
#include "stages/torch/learner/learner.h"

namespace flowtrain::computing {

namespace {

using Lines = std::vector<std::string>;

void add_classes(const Measurement& measured, const std::string& group_by, Lines& lines) {
  const auto is_of_class = [](auto& scalar) { return scalar.first.starts_with(class_accuracy); };
  if (std::ranges::none_of(measured.scalars, is_of_class)) return;
  lines.push_back(std::string("accuracy  ") + (group_by.empty() || group_by == "label" ? "class" : group_by));
  for (auto& [name, value] : measured.scalars)
    if (name.starts_with(class_accuracy) && !std::isnan(value))  // the set may have no sample of it
      lines.push_back(printed("%8s  ", format_loss(value).c_str()) + name.substr(class_accuracy.size()));
}

void add_detections(const DetectionOutcome& objects, Lines& lines) {
  lines.emplace_back("    AP   AP50   AP75  objects  class");
  for (std::size_t i = 0; i < objects.truth.categories.size(); ++i) {
    const auto& category = objects.truth.categories[i];
    const auto count = std::ranges::count_if(
        objects.truth.objects, [&](auto& object) { return object.category_id == category.id && !object.ignore; });
    const CocoScores& scores = objects.coco.classes[i];
    if (count > 0)
      lines.push_back(printed("%6.3f %6.3f %6.3f %8lld  %s", scores.ap, scores.ap50, scores.ap75,
                              static_cast<long long>(count), category.name.c_str()));
  }
}

void add_confusion(const ClassTable& confusion, const std::filesystem::path& folder, Lines& lines) {
  constexpr std::size_t most_shown = 20;
  if (confusion.classes.size() > most_shown)
    return lines.push_back("confusion matrix: " + (folder / "confusion.csv").string());
  lines.emplace_back("confusion matrix: a row for each label, a column for each prediction");
  for (auto& line : to_lines(confusion)) lines.push_back(line);
}

// Returns the details that are shown for a single part.
Lines details_of(const TestPart& part, const Measurement& measured, const std::string& group_by) {
  Lines lines;
  add_classes(measured, group_by, lines);
  if (measured.objects) add_detections(*measured.objects, lines);
  if (measured.confusion) add_confusion(*measured.confusion, part.folder, lines);
  return lines;
}

// Prints a JSON line for each part on standard output, and logs the table.
void report(const TestResults& results, const Lines& details) {
  if (results.outcomes.size() == 1)
    for (auto& line : details) log_info(line);
  for (auto& line : summary_table(results.outcomes)) log_info(line);
  for (auto& [part, samples, scalars, error, exit_code] : results.outcomes) {
    JsonObject fields{{"snapshot", part.snapshot.string()}};
    if (!part.set.empty()) fields["set"] = part.set;
    if (!part.setting.empty()) fields["setting"] = part.setting;
    if (!error.empty()) fields["error"] = error;
    for (auto& [name, value] : scalars) fields[name] = value;
    std::puts(json_line(metrics_event("test", fields)).c_str());
  }
  log_info("the results are in " + results.folder.string());
}

int exit_code_of(const TestResults& results) {
  for (auto& outcome : results.outcomes)
    if (outcome.exit_code != 0) return outcome.exit_code;
  return 0;
}

void report(const ComparedParts& compared) {
  auto& [part, comparison] = compared;
  log_info(concat(shown_set(part.set), part.setting.empty() ? "" : " ", part.setting, ": ", comparison.text()));
  JsonObject fields{{"set", shown_set(part.set)},  {"setting", part.setting}, {"samples", comparison.samples},
                    {"metric", comparison.metric}, {"a", comparison.a},       {"b", comparison.b}};
  if (comparison.has_right_samples) fields["only_a"] = comparison.only_a, fields["only_b"] = comparison.only_b;
  fields["p"] = comparison.p;
  std::puts(json_line(metrics_event("comparison", fields)).c_str());
  log_info("samples that only one net gets right: " + comparison.folder.string());
}

int test_here(const TestRequest& request, TestOptions options) {
  int code = 0;
  std::vector<TestResults> tested;
  for (auto& subject : request.subjects) {
    Lines details;
    const std::string group_by = *load_for_use(subject.start).val().group_by;
    options.on_measured = [&](const TestPart& part, const Measurement& measured) {
      log_info(concat(part.folder.filename().string(), ": ", format_count(measured.size), " samples measured"));
      details = details_of(part, measured, group_by);
    };
    const TestResults& results = tested.emplace_back(run_tests(subject, options, make_torch_learner));
    if (options.group->leads()) report(results, details);
    if (code == 0) code = exit_code_of(results);
  }
  if (tested.size() == 2)
    for (auto& compared : compare_tests(tested[0], tested[1], request.subjects[0], options)) report(compared);
  return code;
}

}  // namespace

int test(const TestRequest& request, Interrupt& interrupt) {
  TestOptions options = request.options;
  options.interrupt = &interrupt;
  const Config config = load_for_use(request.subjects.front().start);
  if (auto* plan = std::get_if<SpawnPlan>(&request.launch)) return start_ranks(*plan, config, "test", request.words);
  if (auto* place = std::get_if<RankInfo>(&request.launch))
    return run_rank(*place, config, [&](GroupSession& membership, std::unique_ptr<HeldFolder>&) {
      options.group = &membership.group();
      options.processes_here = static_cast<unsigned>(place->local_world);
      options.local_rank = static_cast<unsigned>(place->local_rank);
      return test_here(request, options);
    });
  return test_here(request, options);
}

}  // namespace flowtrain::computing
