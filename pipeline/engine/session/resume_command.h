#pragma once
// How to go on with a run that was interrupted.

#include <filesystem>
#include <string>
#include <vector>

namespace flowtrain {

/// The command that goes on with `run`, for a shell. `words`: the command line that started it, whose flags about
/// processes and GPUs are kept, as the run's folder does not say them; all others are in its config.toml. `ranks`: of
/// the run; where another program started them, that one is to start them again.
std::string resume_command(const std::vector<std::string>& words, const std::filesystem::path& run, int ranks);

}  // namespace flowtrain
