#include "nets/metrics/metric.h"

#include <algorithm>

#include "nets/metrics/class_metrics.h"
#include "nets/metrics/sequence_metrics.h"
#include "nets/names.h"

namespace flowtrain::nets {

std::unique_ptr<Metric> make_metric(const std::string& name, std::int64_t classes) {
  if (auto metric = make_class_metric(name, classes)) return metric;
  if (auto metric = make_sequence_metric(name)) return metric;
  throw unknown_name("metric", name, metric_names());
}

std::vector<std::string> metric_names() {
  auto names = class_metric_names();
  const auto more = sequence_metric_names();
  names.insert(names.end(), more.begin(), more.end());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_metric(const std::string& name) { return make_class_metric(name, 0) || make_sequence_metric(name); }

}  // namespace flowtrain::nets
