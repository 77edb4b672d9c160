#pragma once
// A run's metrics in Prometheus' text format 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats).

#include <cstdint>
#include <map>
#include <string>

#include "pipeline/base/telemetry/json_lines.h"

namespace flowtrain {

/// The current state of a run.
struct ExposedMetrics {
  std::string run;  ///< name of its folder
  int rank = 0;
  std::uint64_t iterations = 0;              ///< number of finished iterations
  JsonObject line = {};                      ///< the newest train line
  std::map<std::string, double> validation;  ///< metrics of the newest validation
};

/// Formats each metric with its help, its type, and the labels run and rank. Fields of the line without a name of their
/// own are `flowtrain_logged{name="…"}`.
std::string exposition(const ExposedMetrics& metrics);

}  // namespace flowtrain
