#pragma once
// Shows the progress of a run: a bar on a terminal, plain lines elsewhere.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowtrain {

/// The current state of a run. Members that are unknown or meaningless (the loss of a dry run) are empty and not shown.
struct Progress {
  std::uint64_t iter = 0;
  std::uint64_t max_iter = 0;  ///< 0: no end
  std::optional<std::uint64_t> epoch;
  std::optional<double> loss;
  std::optional<double> lr;
  std::optional<double> samples_per_s;
  std::optional<double> data_wait;   ///< share of wall time that compute waited for data, 0 … 1
  std::string limit;                 ///< the stage that limits: "compute", "sample"; empty: not known
  double limit_share = 0;            ///< share of wall time in which all threads of that stage were at work, 0 … 1
  std::optional<double> queue_fill;  ///< share of the batches ahead that are ready, 0 … 1; only the bar shows it
  std::optional<int> slowest_rank;   ///< set if several processes train
  std::optional<double> cpu_share;   ///< share of the requested CPU time that this process got; empty: enough
  std::optional<double> eta_s;       ///< seconds to the end
};

/// Returns "iter 100/1000  epoch 1  loss 0.4312  lr 0.05  2,310 samples/s  limit sample 97 %, wait 12.0 %  eta 12s".
/// The wait is left out if compute limits; with an unknown limit: "data wait 12.0 %".
std::string format_line(const Progress& progress);
/// Returns the line with a bar, shorter than `columns`: the least important parts are dropped first if there is little
/// room. " 10% [==>       ]   100/1,000  loss 0.4312  eta 12s"
std::string format_bar(const Progress& progress, int columns);

enum class ProgressMode {
  automatic,  ///< bar on a terminal, plain elsewhere; off with ConsoleLevel::quiet
  bar,
  plain,
  off,
};
/// Reads "auto", "bar", "plain" or "off"; throws UserError(usage) for anything else.
ProgressMode progress_mode(std::string_view name);

/// Shows the progress of one run. One thread; log lines of other threads go above the bar.
class ProgressDisplay {
 public:
  /// Decides the meaning of `automatic`, once.
  explicit ProgressDisplay(ProgressMode mode);
  ~ProgressDisplay() { finish(); }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  /// Moves the bar, at most ten times a second; called at every iteration, and cheap otherwise.
  void update(const Progress& progress);
  /// Prints a plain line; called every `display.every` iterations. Beside a bar, and with `off`, it is logged as debug:
  /// it reaches the log file, and the console only with --verbose.
  void report(const Progress& progress);
  /// Draws the latest state and leaves it as a line. Safe to call twice.
  void finish();

 private:
  ProgressMode mode_;
  Progress latest_;
  std::chrono::steady_clock::time_point next_draw_{};  // the epoch means to draw at once
};

}  // namespace flowtrain
