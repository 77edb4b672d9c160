#pragma once
// runs/<name>/metrics.jsonl holds a run's measurements, one line for each event.

#include "pipeline/base/telemetry/json_lines.h"

namespace flowtrain {

/// Makes an event of the kind "train", "val", "snapshot", …: {"kind":"train","iter":20,…}.
inline JsonObject metrics_event(std::string_view kind, const JsonObject& fields) {
  JsonObject event{{"kind", kind}};
  event.insert(fields.begin(), fields.end());
  return event;
}

/// Appends such events. Any thread.
class MetricsFile : public JsonLinesFile {
 public:
  using JsonLinesFile::JsonLinesFile;

  /// Appends an event: metrics.write("train", {{"iter", 20}, {"loss", 0.5}}).
  void write(std::string_view kind, const JsonObject& fields) { JsonLinesFile::write(metrics_event(kind, fields)); }
};

}  // namespace flowtrain
