#pragma once
// Which training to start, and how. No LibTorch here.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// The arguments of `flowtrain train`.
struct StartOptions {
  std::string config;                                 ///< a TOML file, or a run's folder to go on in
  std::vector<Override> overrides = {};               ///< --set key=value, in their order
  std::optional<std::uint64_t> iteration = {};        ///< --iter: go on from the snapshot of this iteration
  std::string resume = {};                            ///< --resume: none, auto or a path; empty: run.resume
  std::optional<std::filesystem::path> run_dir = {};  ///< --run-dir: the run's folder; none: under run.dir
  bool accept_changes = false;                        ///< --accept-changes
  bool leaves_nothing = false;                        ///< a trial (--dry-run, say): fresh, and without a folder
};

}  // namespace flowtrain
