#pragma once
// Throughput of the data stages, each alone and all together: `flowtrain bench`.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/verdict/model.h"
#include "stages/device/device.h"

namespace flowtrain {

struct BenchOptions {
  double seconds = 3;               ///< per stage
  std::vector<std::string> stages;  ///< of plan, read, sample, transfer, pipeline; empty: all
  /// The device that batches go to, in place of run.device's.
  std::function<std::unique_ptr<Device>()> device = {};
};

struct StageStats {
  std::string name;
  unsigned threads = 1;
  double items_per_s = 0;  ///< samples, alone, with all its threads
  double mb_per_s = 0;     ///< of what it hands on, 10^6 bytes
  double busy = 0;         ///< share of its threads' time while the whole loader ran, 0 … 1
};

struct BenchReport {
  std::string config;
  unsigned workers = 1;
  std::vector<StageStats> stages;
  bool has_pipeline = false;
  double samples_per_s = 0, first_batch_s = 0, cpu_s_per_1000 = 0, peak_rss_mb = 0;  ///< of the whole loader
  PipelineLoad load;                                                                 ///< likewise
  Verdict verdict;
  std::string limit;  ///< what limits the whole loader, or the slowest of the stages alone; a stage's name
  std::vector<std::string> advice;  ///< sentences
};

/// Measures. Throws UserError(usage) for an unknown stage, and whatever the data gives.
BenchReport run_bench(const Config& config, const BenchOptions& options);

std::string to_json(const BenchReport& report);
/// For people: a table, and the verdict in one sentence.
std::string to_table(const BenchReport& report);

}  // namespace flowtrain
