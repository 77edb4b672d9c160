#pragma once
// Measures the throughput of the data stages, each alone and all together: `flowtrain bench`.

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
  std::vector<std::string> stages;  ///< the stages to measure: plan, read, sample, transfer, pipeline; empty: all
  /// Makes the device that batches are copied to, instead of run.device's.
  std::function<std::unique_ptr<Device>()> device = {};
};

struct StageStats {
  std::string name;
  unsigned threads = 1;
  double items_per_s = 0;  ///< samples per second of the stage alone, with all its threads
  /// The rate of its output, in 10^6 bytes: `read` counts records with their parts, `sample` what they fill of rows,
  /// without padding, and `transfer` whole batches, the largest ones.
  double mb_per_s = 0;
  double busy = 0;  ///< the share of its threads' time while the whole loader ran, 0 … 1
};

struct BenchReport {
  std::string config;
  unsigned workers = 1;
  std::vector<StageStats> stages;
  bool has_pipeline = false;
  double samples_per_s = 0, first_batch_s = 0, cpu_s_per_1000 = 0,
         peak_rss_mb = 0;      ///< measurements of the whole loader
  std::string counted;         ///< rows with a free axis: field whose positions are counted; else empty
  double positions_per_s = 0;  ///< positions of that field's axis that samples fill
  double padding = 0;          ///< share of its positions that is padding, 0 … 1
  double sound_s_per_s = 0;    ///< seconds of sound that rows of recordings hold, without padding; else 0
  PipelineLoad load;           ///< load of the whole loader
  Verdict verdict;
  std::string limit;                ///< the stage that limits the whole loader, or the slowest of those measured alone
  std::vector<std::string> advice;  ///< one sentence each
};

/// Runs the measurements. Throws UserError(usage) for an unknown stage, and the errors of the data.
BenchReport run_bench(const Config& config, const BenchOptions& options);

std::string to_json(const BenchReport& report);
/// Formats a table, and the verdict in one sentence.
std::string to_table(const BenchReport& report);

}  // namespace flowtrain
