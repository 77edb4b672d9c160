#pragma once
// Runs `flowtrain watch`: shows a run in a terminal while it trains.

#include <chrono>
#include <filesystem>

#include "pipeline/base/telemetry/interrupt.h"

namespace flowtrain::watch {

struct WatchOptions {
  std::filesystem::path run;                ///< the run's folder
  std::chrono::milliseconds refresh{1000};  ///< the time between two looks at its files
  bool once = false;                        ///< prints one screen as plain text
};

/// Shows the run until 'q' or a signal, and reads only new lines of its files. Without a terminal that can move its
/// cursor it prints a line for each event, and returns when the run has ended. Returns the exit code. Throws
/// UserError(usage) where the folder holds no run.
int watch(const WatchOptions& options, Interrupt& interrupt);

}  // namespace flowtrain::watch
