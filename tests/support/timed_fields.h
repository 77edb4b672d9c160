#pragma once
// The fields of metrics.jsonl that are times or depend on the machine, in which two runs of one configuration differ.

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace flowtrain::test {

/// Whether a field of a line tells how fast the run was, or what it took of the machine.
inline bool is_timed(const std::string& field) {
  static const std::set<std::string> timed{
      "samples_per_s",  "data_wait",     "data_time",       "step_time", "step_p50",      "step_p99",
      "slowest_rank",   "slowest_time",  "slowest_link",    "link_time", "exchange_time", "exchange_hidden",
      "host_memory_mb", "gpu_memory_mb", "gpu_utilisation", "cpu_share", "mfu",           "elapsed_s",
      "limit",          "limit_share",   "queue_fill"};
  return timed.contains(field) || field.starts_with("time.");
}

/// A line without them.
inline nlohmann::json without_times(const nlohmann::json& line) {
  nlohmann::json lasting = nlohmann::json::object();
  for (auto& [field, value] : line.items())
    if (!is_timed(field)) lasting[field] = value;
  return lasting;
}

}  // namespace flowtrain::test
