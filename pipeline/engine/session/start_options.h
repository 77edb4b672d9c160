#pragma once
// Choices about the start of a training.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// The arguments of `flowtrain train`.
struct StartOptions {
  std::string config;                                 ///< A TOML file, or the folder of a run to resume.
  std::vector<Override> overrides = {};               ///< --set key=value, in their order.
  std::optional<std::uint64_t> iteration = {};        ///< --iter: resume from the snapshot of this iteration.
  std::string resume = {};                            ///< --resume: none, auto or a path; empty: run.resume.
  std::optional<std::filesystem::path> run_dir = {};  ///< --run-dir: the run's folder; empty: under run.dir.
  bool accept_changes = false;                        ///< --accept-changes
  bool leaves_nothing = false;                        ///< A trial, such as --dry-run, is new and has no folder.
};

}  // namespace flowtrain
