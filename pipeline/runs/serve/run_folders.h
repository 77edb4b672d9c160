#pragma once
// The runs under a folder, and those of their files that may be looked at.

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

/// The runs in a folder, and up to three folders deep, sorted by name, at most 1,000; of a run's own folder that run
/// alone. Not followed are links, and left out are runs with links that lead out of the folder.
std::vector<FoundRun> find_runs(const std::filesystem::path& folder);

/// An open file that may be read by anybody who may look.
struct ServedFile {
  std::shared_ptr<const int> descriptor;  ///< closed with its last owner
  std::uint64_t size_bytes = 0;           ///< when it was opened; it may have another size by now
  std::string type;                       ///< MIME

  /// Up to 64 KiB from `offset` on; nothing at the file's end, and where it cannot be read.
  std::string part(std::uint64_t offset) const;
};

/// The file of a run at this path, given in parts: what the run writes for people and programs (metrics.jsonl,
/// train.log, config.toml …), and pictures/<folder>/<name>.png or .json. Nothing where it is of another kind, is not
/// there, or is reached through a link.
std::optional<ServedFile> open_served_file(const std::filesystem::path& run, const std::vector<std::string>& path);

}  // namespace flowtrain::serve
