#include "pipeline/watch/event_line.h"

#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/progress.h"
#include "pipeline/watch/screen.h"
#include "sampling/core/text.h"

namespace flowtrain::watch {

std::string event_line(const nlohmann::ordered_json& line, const RunSummary& summary) {
  const auto kind = line.value("kind", nlohmann::ordered_json());
  const auto iteration = line.value("iter", nlohmann::ordered_json());
  if (!kind.is_string() || !iteration.is_number()) return {};
  const auto name = kind.get<std::string>();
  if (name == "train") {
    RunSummary there = summary;
    there.iteration = iteration.get<std::uint64_t>();
    return format_line(progress_of(there, line));
  }
  if (name == "verdict")
    return line.contains("text") && line["text"].is_string() ? line["text"].get<std::string>() : "";
  if (name == "epoch" || name == "profile") return {};
  if (name != "val") return concat(name, " at iteration ", iteration.get<std::uint64_t>());
  std::string text = concat("validation at iteration ", iteration.get<std::uint64_t>(), ":");
  std::string_view before = " ";
  for (auto& [field, value] : line.items()) {
    if (field == "iter" || !value.is_number()) continue;
    text += concat(before, field, " ", format_loss(value.get<double>()));
    before = "  ";
  }
  return text;
}

}  // namespace flowtrain::watch
