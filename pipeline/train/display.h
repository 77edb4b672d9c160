#pragma once
// The display branch: the progress bar, log lines and metrics.jsonl, on a thread of its own, in step order.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "pipeline/telemetry/metrics.h"
#include "pipeline/telemetry/progress.h"
#include "pipeline/train/logger.h"

namespace flowtrain {

/// Shows what it is told. One thread calls; events are shown in their order. An error on the way (no memory, say) is
/// thrown by a later call of step() or finish().
class Display : public Logger {
 public:
  /// Reports that may wait to be shown.
  static constexpr std::size_t depth = 64;

  /// `metrics` may be null (runs without a folder).
  Display(ProgressMode mode, std::uint64_t max_iterations, MetricsFile* metrics);
  ~Display() override;
  Display(const Display&) = delete;

  void step(const StepEvent& event, const Scalars& scalars) override;
  void epoch(std::uint64_t iteration, std::uint64_t epoch, const Scalars& means) override;
  /// The confusion becomes confusion.csv, beside metrics.jsonl: that of the newest validation.
  void validation(const ValidationEvent& event) override;
  void finish() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowtrain
