#pragma once
// The loggers of a run.

#include <memory>
#include <vector>

#include "pipeline/engine/train/logger_entry.h"

namespace flowtrain {

/// A logger of a run, with its entry.
struct NamedLogger {
  LoggerEntry entry;
  std::unique_ptr<Logger> logger;
};

/// Makes the loggers that the configuration asks for.
std::vector<NamedLogger> make_loggers(const LoggerInput& input);

}  // namespace flowtrain
