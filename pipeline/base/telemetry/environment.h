#pragma once
// runs/<name>/env.json describes a run's machine and build.

#include <string>
#include <utility>
#include <vector>

#include "stages/device/gpu_facts.h"

namespace flowtrain {

/// Returns "flowtrain 0.1.0 (3f2a1c9e0b7d-dirty, Release)"; the revision is "unknown" outside of a git checkout.
std::string program_version();

/// Returns the words of this process's command line.
std::vector<std::string> command_line_words();

/// Facts that only the caller knows, such as {"torch", "2.11.0"}.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Returns an indented JSON object, with `extra` at its end: program, compiler, libraries, command line, start time
/// (UTC), host, system, processor, memory, GPUs and their software (null: there are none). It has only those
/// environment variables that change a run: CUDA_VISIBLE_DEVICES, OMP_*, GOMP_*, FLOWTRAIN_*. Secrets are masked.
/// Unknown values are "unknown" or 0.
std::string environment_json(const GpuFacts& gpu, const Facts& extra = {});

}  // namespace flowtrain
