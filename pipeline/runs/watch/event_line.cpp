#include "pipeline/runs/watch/event_line.h"

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/progress.h"
#include "pipeline/runs/watch/screen.h"
#include "sampling/core/text.h"

namespace flowtrain::watch {

std::string event_line(const nlohmann::ordered_json& line, const RunSummary& summary) {
  const auto kind = text_in(line, "kind");
  const auto iteration = number_in<std::uint64_t>(line, "iter");
  if (!kind || !iteration) return {};
  if (kind == "train") {
    RunSummary there = summary;
    there.iteration = *iteration;
    return format_line(progress_of(there, line));
  }
  if (kind == "verdict") return text_in(line, "text").value_or("");
  if (kind == "epoch" || kind == "profile" || kind == "samples") return {};
  if (kind != "val") return concat(*kind, " at iteration ", *iteration);
  std::string text = concat("validation at iteration ", *iteration, ":");
  std::string_view before = " ";
  for (auto& [field, value] : line.items()) {
    if (field == "iter" || !value.is_number()) continue;
    text += concat(before, field, " ", format_loss(value.get<double>()));
    before = "  ";
  }
  return text;
}

}  // namespace flowtrain::watch
