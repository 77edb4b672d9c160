#pragma once
// Progress of a run: a bar on a terminal, plain lines elsewhere.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

/// Where a run stands. What is not known, or has no meaning (the loss of a dry run), stays empty and is not shown.
struct Progress {
  std::uint64_t iter = 0;
  std::uint64_t max_iter = 0;  ///< 0: no end
  std::optional<std::uint64_t> epoch;
  std::optional<double> loss;
  std::optional<double> lr;
  std::optional<double> samples_per_s;
  std::optional<double> data_wait;   ///< share of wall time that compute waited for data, 0 … 1
  std::string limit;                 ///< the stage that limits: "compute", "sample"; empty: not known
  double limit_share = 0;            ///< share of wall time in which all its threads were at work, 0 … 1
  std::optional<double> queue_fill;  ///< share of the batches ahead that are ready, 0 … 1; only the bar shows it
  std::optional<int> slowest_rank;   ///< where several processes train
  std::optional<double> cpu_share;   ///< of the CPU time that this process asked for, what it got; empty: enough
  std::optional<double> eta_s;       ///< seconds to the end
};

/// "iter 100/1000  epoch 1  loss 0.4312  lr 0.05  2,310 samples/s  limit sample 97 %, wait 12.0 %  eta 12s". Where
/// compute limits the rest of its share is waiting for data, so that is not said; where the limit is not known:
/// "data wait 12.0 %".
std::string format_line(const Progress& progress);
/// The same with a bar, shorter than `columns`: what matters least goes first where there is little room.
/// " 10% [==>       ]   100/1,000  loss 0.4312  eta 12s"
std::string format_bar(const Progress& progress, int columns);

enum class ProgressMode {
  automatic,  ///< bar on a terminal, plain elsewhere; off with ConsoleLevel::quiet
  bar,
  plain,
  off,
};
/// From "auto", "bar", "plain" or "off"; throws UserError(usage) for anything else.
ProgressMode progress_mode(std::string_view name);

/// Shows the progress of one run. One thread; log lines of other threads go above the bar.
class ProgressDisplay {
 public:
  /// `automatic` is decided here, once.
  explicit ProgressDisplay(ProgressMode mode);
  ~ProgressDisplay() { finish(); }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  /// To be called at every iteration: moves the bar, at most ten times a second. Cheap otherwise.
  void update(const Progress& progress);
  /// To be called every `display.every` iterations: a plain line. Beside a bar, and with `off`, it is logged as debug:
  /// it reaches the log file, and the console only with --verbose.
  void report(const Progress& progress);
  /// Draws the latest state and leaves it as a line. Safe to call twice.
  void finish();

 private:
  ProgressMode mode_;
  Progress latest_;
  std::chrono::steady_clock::time_point next_draw_{};  // the epoch: draw at once
};

}  // namespace flowtrain
