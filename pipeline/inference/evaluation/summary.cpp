#include "pipeline/inference/evaluation/summary.h"

#include <algorithm>
#include <cmath>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/inference/evaluation/part_files.h"
#include "pipeline/inference/evaluation/test_sets.h"
#include "sampling/core/csv.h"

namespace flowtrain {

namespace {

std::vector<std::string> metric_names(const std::vector<PartOutcome>& outcomes) {
  std::vector<std::string> names;
  for (auto& outcome : outcomes)
    for (auto& [name, value] : outcome.scalars)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

const double* value_of(const PartOutcome& outcome, const std::string& name) {
  const auto found = std::ranges::find(outcome.scalars, name, &Scalars::value_type::first);
  return found == outcome.scalars.end() ? nullptr : &found->second;
}

ordered_json part_json(const PartOutcome& outcome) {
  const TestPart& part = outcome.part;
  JsonObject fields{{"snapshot", part.snapshot.filename().string()},
                    {"iter", part.iteration},
                    {"set", shown_set(part.set)},
                    {"setting", part.setting}};
  if (!outcome.error.empty()) {
    fields["error"] = outcome.error;
    return fields;
  }
  fields["folder"] = part.folder.filename().string();
  fields["samples"] = outcome.samples;
  fields["metrics"] = metrics_json(outcome.scalars);
  return fields;
}

std::string csv_of(const std::vector<PartOutcome>& outcomes) {
  const auto metrics = metric_names(outcomes);
  std::string text = "snapshot,iter,set,setting,samples";
  for (auto& name : metrics) append_csv_cell(text += ',', name);
  text += ",error\n";
  for (auto& outcome : outcomes) {
    append_csv_cell(text, outcome.part.snapshot.filename().string());
    text += concat(",", outcome.part.iteration, ",");
    append_csv_cell(text, shown_set(outcome.part.set));
    append_csv_cell(text += ',', outcome.part.setting);
    text += concat(",", outcome.samples);
    for (auto& name : metrics) {
      text += ',';
      if (const double* value = value_of(outcome, name); value && std::isfinite(*value))
        text += ordered_json(*value).dump();
    }
    append_csv_cell(text += ',', outcome.error);
    text += '\n';
  }
  return text;
}

}  // namespace

void write_summary(const std::filesystem::path& folder, const std::vector<PartOutcome>& outcomes) {
  ordered_json parts = ordered_json::array();
  for (auto& outcome : outcomes) parts.push_back(part_json(outcome));
  make_folders(folder);
  write_file_atomically(folder / "summary.json",
                        json_text(ordered_json(JsonObject{{"parts", std::move(parts)}}), 1) + "\n");
  write_file_atomically(folder / "summary.csv", csv_of(outcomes));
}

std::vector<std::string> summary_table(const std::vector<PartOutcome>& outcomes) {
  constexpr std::size_t most_metrics = 8;
  auto metrics = metric_names(outcomes);
  std::erase_if(metrics,
                [](auto& name) { return name.find('.') != name.npos; });  // drops metrics of single classes and groups
  if (metrics.size() > most_metrics) metrics.resize(most_metrics);
  std::vector<std::vector<std::string>> rows{{"snapshot", "set", "setting", "samples"}};
  rows.front().insert(rows.front().end(), metrics.begin(), metrics.end());
  for (auto& outcome : outcomes) {
    auto& row = rows.emplace_back();
    row = {outcome.part.snapshot.filename().string(), shown_set(outcome.part.set), outcome.part.setting};
    if (!outcome.error.empty()) {
      row.push_back(outcome.error);
      continue;
    }
    row.push_back(format_count(outcome.samples));
    for (auto& name : metrics) {
      const double* value = value_of(outcome, name);
      row.push_back(value ? format_loss(*value) : "");
    }
  }
  std::vector<std::size_t> widths(rows.front().size());
  for (auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row.size() == widths.size() || i < 3) widths[i] = std::max(widths[i], row[i].size());
  std::vector<std::string> lines;
  for (auto& row : rows) {
    std::string& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - std::min(widths[i], row[i].size()), ' ');
      line += concat(i == 0 ? "" : "  ", i < 3 || row.size() != widths.size() ? row[i] + space : space + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace flowtrain
