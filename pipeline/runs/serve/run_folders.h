#pragma once
// Finds the runs under a folder, and those of their files that visitors may read.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flowtrain::serve {

/// A run and its name: its path from the served folder, with slashes ("lenet/quickstart-2").
struct FoundRun {
  std::string name;
  std::filesystem::path folder;
};

/// Returns the runs in a folder, and up to three folders deep, sorted by name, at most 1,000; for a run's own folder
/// only that run. Links are not followed, and runs with links that lead out of the folder are left out.
std::vector<FoundRun> find_runs(const std::filesystem::path& folder);

/// An open file that every visitor may read.
struct ServedFile {
  std::shared_ptr<const int> descriptor;  ///< closed with its last owner
  std::uint64_t size_bytes = 0;           ///< the size when it was opened, which may have changed
  std::string type;                       ///< the MIME type

  /// Returns up to 64 KiB from `offset` on; nothing at the file's end, or if it cannot be read.
  std::string part(std::uint64_t offset) const;
};

/// Returns the file of a run at this path, given in parts: files that the run writes for people and programs
/// (metrics.jsonl, train.log, config.toml …), and pictures/<folder>/<name>.png or .json. Returns nothing for files of
/// another kind, missing files, and files reached through a link.
std::optional<ServedFile> open_served_file(const std::filesystem::path& run, const std::vector<std::string>& path);

}  // namespace flowtrain::serve
