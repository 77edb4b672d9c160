#pragma once
// Names the command that resumes an interrupted run.

#include <filesystem>
#include <string>
#include <vector>

namespace flowtrain {

/// Returns the shell command that resumes `run`. It keeps the flags about processes and GPUs of the command line
/// `words` that started the run; the run's config.toml has all others. If another program started the run's `ranks`,
/// the command says that this program must start them again.
std::string resume_command(const std::vector<std::string>& words, const std::filesystem::path& run, int ranks);

}  // namespace flowtrain
