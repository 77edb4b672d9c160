#pragma once
// The flags of commands that several processes can run together.

#include <CLI/CLI.hpp>

#include <functional>

#include "pipeline/base/config/config.h"
#include "pipeline/base/launch/rank_info.h"

namespace flowtrain::commands {

/// Adds --distributed and the flags that describe the processes.
void add_launch_flags(CLI::App& app, LaunchOptions& launch);

/// Calls find_place() with the GPUs that the configuration leaves to the ranks of this node.
Launch find_launch(const LaunchOptions& launch, const std::function<Config()>& load);

}  // namespace flowtrain::commands
