#include "pipeline/engine/report/summary.h"

#include "pipeline/base/telemetry/format.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

bool is_there(const std::filesystem::path& path) {
  std::error_code error;  // an unreadable folder has no files to show
  return std::filesystem::exists(path, error);
}

}  // namespace

std::vector<std::string> summary_lines(const std::filesystem::path& run, const std::vector<BestRule>& rules,
                                       const Rankings& rankings) {
  std::vector<std::string> lines;
  for (auto& rule : rules) {
    const auto* const best = rule.best(rankings);
    if (!best) continue;
    const auto link = run / "snapshots" / rule.link;
    lines.push_back(concat("best ", rule.of.name, ": ", format_loss(best->value), " at iteration ", best->iteration,
                           is_there(link) ? ", in " + link.string() : std::string()));
  }
  std::vector<std::string> files;
  for (const char* name : {"report.html", "metrics.jsonl", "train.log", "snapshots/latest"})
    if (is_there(run / name)) files.emplace_back(name);
  if (!files.empty()) lines.push_back(concat("files in ", run.string(), ": ", join(files)));
  return lines;
}

}  // namespace flowtrain
