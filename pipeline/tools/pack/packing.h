#pragma once
// The common parts of all ways of packing: the splits, the order of their records, and the log of those left out.

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
#include "sampling/dataset.h"

namespace flowtrain {

/// A split that is packed.
struct PackedSplit {
  bool training;
  std::unique_ptr<Dataset> dataset;

  std::string name() const { return training ? "train" : "val"; }
};

/// Opens the splits that are packed; all of them first, as a missing one is then an error before hours of work. Without
/// validation data it warns, as a run does. Throws the errors of open_dataset(), and UserError(usage) for groups of
/// rows.
std::vector<PackedSplit> open_splits(const Config& config, const PackOptions& options);

/// Returns a function that gives the id of the record at each place.
std::function<std::uint64_t(std::uint64_t)> order_of(const Dataset& dataset, const PackOptions& options);

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
