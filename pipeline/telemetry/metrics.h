#pragma once
// runs/<name>/metrics.jsonl: what a run measured, one line for each event.

#include "pipeline/telemetry/json_lines.h"

namespace flowtrain {

using MetricField = JsonField;

/// A line of the kind "train", "val", "snapshot", …: {"kind":"train","iter":20,…}.
std::string metrics_line(std::string_view kind, std::span<const MetricField> fields);

/// Appends such lines. Any thread.
class MetricsFile {
 public:
  /// Opens or creates the file. Throws UserError(snapshot) if that fails.
  explicit MetricsFile(const std::filesystem::path& path) : file_(path) {}

  /// metrics.write("train", {{"iter", 20}, {"loss", 0.5}});
  void write(std::string_view kind, std::initializer_list<MetricField> fields);
  void write(std::string_view kind, std::span<const MetricField> fields);
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  JsonLinesFile file_;
};

}  // namespace flowtrain
