#pragma once
// Measures the cost of training with several processes, for `flowtrain bench --distributed`.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/engine/session/session.h"
#include "stages/model/learner_spec.h"

namespace flowtrain {

/// Rates as nccl-tests defines them (doc/PERFORMANCE.md): of the algorithm, bytes by time; of the bus, that times
/// 2 (n - 1) / n for n processes, which is what each connection of a ring carries. 10^6 bytes a second.
struct AllReduceStats {
  std::size_t bytes = 0;
  double time_s = 0;
  double algorithm_mb_per_s = 0, bus_mb_per_s = 0;
};

/// Forward and backward of one batch, all processes at once, without the update.
struct StepScalars {
  double alone_s = 0;       ///< gradients are not exchanged
  double overlapped_s = 0;  ///< averaged while backward computes the next ones, as in training
  double serial_s = 0;      ///< averaged after backward, all in one bucket, which dist.compress leaves as it is
  double exchange_s = 0;    ///< the time that the exchange adds if it does not overlap: serial - alone
  double hidden = 0;        ///< the share of that which overlap saves, 0 … 1
  double efficiency = 0;    ///< efficiency of weak scaling (equal rows per process): alone / overlapped
};

/// Times are medians, each of the slowest process.
struct DistributedReport {
  std::string config;
  int processes = 1;
  std::size_t rows = 0;  ///< rows of the batch on rank 0
  std::vector<AllReduceStats> all_reduce;
  StepScalars step;
};

struct DistributedBenchOptions : SessionOptions {
  double seconds = 3;  ///< the duration for each size, and for each kind of step
};

/// The type of time_all_reduce() in stages/torch/.
using TimeAllReduce =
    std::function<std::vector<double>(Group& group, const std::string& device, std::size_t bytes, std::size_t count)>;

/// Measures, with the configuration's net on the first batch of its data, repeatedly; train.accum counts as 1. A
/// collective, whose report is the same on all ranks but for `rows`. Throws UserError.
DistributedReport run_distributed_bench(const Config& config, const DistributedBenchOptions& options,
                                        const MakeLearner& make_learner, const TimeAllReduce& time_all_reduce);

std::string to_json(const DistributedReport& report);
/// Formats a table.
std::string to_table(const DistributedReport& report);

}  // namespace flowtrain
