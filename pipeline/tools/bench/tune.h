#pragma once
// Finds the best shape of a loader on this machine: `flowtrain bench CONFIG --tune FILE`.

#include <string>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/verdict/tuner.h"

namespace flowtrain {

/// Shapes that were measured, and the fastest of them.
struct LoaderTuneReport {
  std::uint32_t batch = 1;           ///< samples per iteration in the trials
  std::vector<Tuner::Trial> trials;  ///< in the order of trials; the first is the configuration's
  LoaderShape present, best;
  double present_rate = 0, best_rate = 0;  ///< samples/s, medians over the turns
  double speedup = 1;                      ///< the median ratio of best to present; 1 if they are the same
};

/// Runs the loader of [data.train] without a net in one shape after the other, each for `seconds`, guided by its limit
/// (Tuner), then the best and the configuration's in turn. Batches are the same in every shape. Throws UserError(usage
/// or data).
LoaderTuneReport tune_loader(const Config& config, double seconds);

/// Formats a line for each trial, and the best shape in one sentence.
std::string to_table(const LoaderTuneReport& report);
std::string to_json(const LoaderTuneReport& report);
/// Formats a file for `base = ["CONFIG", "FILE"]`, which sets [loader] to the best shape.
std::string to_toml(const LoaderTuneReport& report);

}  // namespace flowtrain
