#pragma once
// runs/<name>/metrics.jsonl: what a run measured, one line for each event.

#include "pipeline/base/telemetry/json_lines.h"

namespace flowtrain {

/// An event of the kind "train", "val", "snapshot", …: {"kind":"train","iter":20,…}.
inline JsonObject metrics_event(std::string_view kind, const JsonObject& fields) {
  JsonObject event{{"kind", kind}};
  event.insert(fields.begin(), fields.end());
  return event;
}

/// Appends such events. Any thread.
class MetricsFile : public JsonLinesFile {
 public:
  using JsonLinesFile::JsonLinesFile;

  /// metrics.write("train", {{"iter", 20}, {"loss", 0.5}});
  void write(std::string_view kind, const JsonObject& fields) { JsonLinesFile::write(metrics_event(kind, fields)); }
};

}  // namespace flowtrain
