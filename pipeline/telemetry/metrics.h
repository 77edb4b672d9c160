#pragma once
// runs/<name>/metrics.jsonl: what a run measured, one line for each event.

#include "pipeline/telemetry/json_lines.h"

namespace flowtrain {

/// An event of the kind "train", "val", "snapshot", …: {"kind":"train","iter":20,…}.
inline ordered_json metrics_event(std::string_view kind, const ordered_json& fields) {
  ordered_json event{{"kind", kind}};
  event.update(fields);
  return event;
}

/// Appends such events. Any thread.
class MetricsFile : public JsonLinesFile {
 public:
  using JsonLinesFile::JsonLinesFile;

  /// metrics.write("train", {{"iter", 20}, {"loss", 0.5}});
  void write(std::string_view kind, const ordered_json& fields) { JsonLinesFile::write(metrics_event(kind, fields)); }
};

}  // namespace flowtrain
