#pragma once
// The common parts of all ways of packing: the splits, the order of their records, and the log of those left out.

#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/base/telemetry/progress.h"
#include "pipeline/tools/pack/pack.h"
#include "sampling/core/reads_until.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// A split that is packed.
struct PackedSplit {
  bool training;
  std::unique_ptr<Dataset> dataset;

  std::string name() const { return training ? "train" : "val"; }
};

/// Opens the splits that are packed; all of them first, as a missing one is then an error before hours of work. Without
/// validation data it warns, as a run does; validation data that are those of training are left out. Throws the errors
/// of open_dataset(), and UserError(usage) for groups of rows.
std::vector<PackedSplit> open_splits(const Config& config, const PackOptions& options);

/// Returns a function that gives the id of the record at each place.
std::function<std::uint64_t(std::uint64_t)> order_of(const Dataset& dataset, const PackOptions& options);

/// Lets `fill(job)` give out jobs in order, until it returns false, and `take(job)` take them in order, while `workers`
/// threads do work(job) in between. There are no more jobs under way than `jobs`, so the oldest one is always done when
/// it is needed again. Returns false if it was interrupted.
template <class Job, class Fill, class Work, class Take>
bool run_jobs(std::vector<Job>& jobs, unsigned workers, const Interrupt& interrupt, const Fill& fill, const Work& work,
              const Take& take) {
  std::uint64_t issued = 0;
  const auto issue = [&](tbb::flow_control& control) -> Job* {
    Job& job = jobs[issued++ % jobs.size()];
    if (!interrupt.requested() && fill(job)) return &job;
    control.stop();
    return nullptr;
  };
  const auto done = [&](Job* job) {
    const ReadsUntil until(interrupt.token());  // an unreachable server delays no reader
    work(*job);
    return job;
  };
  tbb::task_arena arena(static_cast<int>(workers));
  arena.execute([&] {
    tbb::parallel_pipeline(jobs.size(), tbb::make_filter<void, Job*>(tbb::filter_mode::serial_in_order, issue) &
                                            tbb::make_filter<Job*, Job*>(tbb::filter_mode::parallel, done) &
                                            tbb::make_filter<Job*, void>(tbb::filter_mode::serial_in_order,
                                                                         [&](Job* job) { take(*job); }));
  });
  return !interrupt.requested();
}

/// Returns "PREFIX-000000.ENDING", the name of a shard. Names of six digits sort in the order of their numbers.
std::string shard_name(const std::string& prefix, std::uint64_t number, const char* ending);
/// Throws UserError(usage) if there are so many shards that one more has no name.
void check_shards(std::uint64_t shards);

/// Shows how far a split is packed, and lists the records that are left out.
class PackingLog {
 public:
  /// `unit` is what a rate counts: "img/s". `split` must outlive it.
  PackingLog(const Config& config, const PackedSplit& split, const char* unit);

  /// Continues a packing that has taken so many records and units, and has left out so many records.
  void resume(std::uint64_t records, std::uint64_t units, std::uint64_t bad);
  /// Warns of a record that failed in `stage`, and returns its line for a list. Throws UserError(data) if there are
  /// more of them than data.bad and data.max_bad allow.
  std::string leave_out(std::uint64_t id, const char* stage, const std::string& reason);
  /// Shows the state; cheap if the last one is new.
  void show(std::uint64_t records, std::uint64_t units);
  /// Leaves the last state as a line.
  void finish() { display_.finish(); }
  /// Returns "1,234 img/s".
  std::string rate(std::uint64_t units) const;
  std::uint64_t bad() const { return bad_; }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  const Dataset& dataset_;
  std::string name_, unit_;
  std::string key_;  ///< the key of the budget that a run names, too
  std::uint64_t budget_, bad_ = 0;
  std::uint64_t records_before_ = 0, units_before_ = 0;
  ProgressMode mode_;
  ProgressDisplay display_;
  Clock::time_point begin_ = Clock::now(), next_report_;
};

}  // namespace flowtrain
