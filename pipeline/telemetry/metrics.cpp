#include "pipeline/telemetry/metrics.h"

#include <vector>

namespace flowtrain {
namespace {

std::vector<JsonField> of_kind(std::string_view kind, std::span<const MetricField> fields) {
  std::vector<JsonField> all{{"kind", kind}};
  all.insert(all.end(), fields.begin(), fields.end());
  return all;
}

}  // namespace

std::string metrics_line(std::string_view kind, std::span<const MetricField> fields) {
  return json_line(of_kind(kind, fields));
}

void MetricsFile::write(std::string_view kind, std::initializer_list<MetricField> fields) {
  write(kind, std::span(fields.begin(), fields.size()));
}

void MetricsFile::write(std::string_view kind, std::span<const MetricField> fields) {
  file_.write(of_kind(kind, fields));
}

}  // namespace flowtrain
